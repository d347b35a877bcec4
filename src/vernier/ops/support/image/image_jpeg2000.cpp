#include <openjpeg.h>

#include <cstring>

#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

namespace {

// The file in memory, as OpenJPEG reads it: from a position.
struct Source {
  Bytes file;
  size_t at = 0;
};

OPJ_SIZE_T read_bytes(void* to, OPJ_SIZE_T wanted, void* user) {
  auto& source = *static_cast<Source*>(user);
  const size_t count = std::min(source.file.size() - source.at, wanted);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
  return count;
}

OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (count < 0) return -1;
  const size_t step = std::min(source.file.size() - source.at, static_cast<size_t>(count));
  source.at += step;
  return static_cast<OPJ_OFF_T>(step);
}

OPJ_BOOL seek(OPJ_OFF_T position, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (position < 0 || static_cast<size_t>(position) > source.file.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(position);
  return OPJ_TRUE;
}

using Stream = std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)>;
using Picture = std::unique_ptr<opj_image_t, void (*)(opj_image_t*)>;

Stream open(Source& source) {
  Stream stream(opj_stream_default_create(OPJ_TRUE), opj_stream_destroy);
  opj_stream_set_read_function(stream.get(), read_bytes);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_stream_set_seek_function(stream.get(), seek);
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.file.size());
  return stream;
}

// The sample at pixel (x, y) of the image, scaled to 8 bits.
uint8_t sample(const opj_image_comp_t& component, size_t x, size_t y) {
  const size_t column = std::min<size_t>(x / component.dx, component.w - 1),
               row = std::min<size_t>(y / component.dy, component.h - 1);
  const int64_t top = (int64_t{1} << component.prec) - 1;
  const int64_t value =
      component.data[row * component.w + column] + (component.sgnd ? int64_t{1} << (component.prec - 1) : 0);
  return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, top) * 255 / top);
}

void check_components(const opj_image_t& picture) {
  if (picture.numcomps == 0) throw bad_input("damaged JPEG 2000: no component");
  if (picture.color_space == OPJ_CLRSPC_SYCC || picture.color_space == OPJ_CLRSPC_EYCC ||
      picture.color_space == OPJ_CLRSPC_CMYK) {
    throw unsupported("a JPEG 2000 image in YCC or CMYK cannot be decoded to RGB");
  }
  for (OPJ_UINT32 c = 0; c < picture.numcomps; ++c) {
    const auto& component = picture.comps[c];
    const bool sound = component.data != nullptr && component.w > 0 && component.h > 0 && component.dx > 0 &&
                       component.dy > 0 && component.prec > 0 && component.prec <= 31;
    if (!sound) throw bad_input("damaged JPEG 2000: component {} is empty", c);
  }
}

Tensor pixels(const opj_image_t& picture) {
  check_components(picture);
  const size_t width = picture.x1 - picture.x0, height = picture.y1 - picture.y0;
  Tensor image = make_image(static_cast<int64_t>(height), static_cast<int64_t>(width));
  const bool grey = picture.numcomps < 3;
  uint8_t* to = pixels_of(image);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < 3; ++c) *to++ = sample(picture.comps[grey ? 0 : c], x, y);
    }
  }
  return image;
}

}  // namespace

Tensor decode_jpeg2000(Bytes file) {
  Source source{file};
  const Stream stream = open(source);
  const bool bare = data_of(file)[0] == 0xff;
  const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
      opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* read = nullptr;
  bool sound =
      opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &read);
  const Picture picture(read, opj_image_destroy);
  if (sound)
    make_image(int64_t{picture->y1} - picture->y0,
               int64_t{picture->x1} - picture->x0);  // refuses absurd sizes before decoding
  sound = sound && opj_decode(codec.get(), stream.get(), picture.get()) &&
          opj_end_decompress(codec.get(), stream.get());
  if (!sound) throw bad_input("damaged JPEG 2000");
  return pixels(*picture);
}

}  // namespace vernier::ops
