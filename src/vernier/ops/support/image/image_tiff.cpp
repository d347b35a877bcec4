#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "vernier/ops/support/image/image.h"
#include "vernier/ops/support/image/tiff_library.h"

namespace vernier::ops {

namespace {

// The file in memory, as libtiff reads it: read-only, from a position.
struct Source {
  Bytes file;
  size_t at = 0;
  std::string message;
};

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t wanted) {
  auto& source = *static_cast<Source*>(handle);
  const size_t count =
      std::min(source.file.size() - source.at, static_cast<size_t>(std::max<tmsize_t>(wanted, 0)));
  if (count > 0) std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t write_bytes(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int origin) {
  auto& source = *static_cast<Source*>(handle);
  const toff_t base = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? source.at : source.file.size();
  source.at = static_cast<size_t>(std::min<toff_t>(base + offset, source.file.size()));
  return source.at;
}

int close(thandle_t) {
  return 0;
}
toff_t size_of(thandle_t handle) {
  return static_cast<Source*>(handle)->file.size();
}

int keep_message(TIFF*, void* source, const char*, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<Source*>(source)->message = text;
  return 1;
}

int drop_message(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

}  // namespace

Tensor decode_tiff(Bytes file) {
  static const TiffLibrary library = open_tiff_library();
  Source source{file, 0, {}};
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(library.new_options(),
                                                                             library.free_options);
  library.set_error_handler(options.get(), keep_message, &source);
  library.set_warning_handler(options.get(), drop_message, nullptr);
  const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
      library.open("image", "rm", &source, read_bytes, write_bytes, seek, close, size_of, nullptr, nullptr,
                   options.get()),
      library.close);
  const auto damaged = [&] { return bad_input("damaged TIFF: {}", source.message); };
  uint32_t width = 0, height = 0;
  if (!tiff || library.get_field(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      library.get_field(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    throw damaged();
  }
  uint16_t samples = SAMPLEFORMAT_UINT;
  library.get_field_or_default(tiff.get(), TIFFTAG_SAMPLEFORMAT, &samples);
  if (samples == SAMPLEFORMAT_IEEEFP)
    throw unsupported("a TIFF of floating-point samples cannot be decoded to RGB");
  char why[1024] = "";
  if (library.is_rgba(tiff.get(), why) == 0)
    throw unsupported("this kind of TIFF cannot be decoded: {}", why);
  Tensor image = make_image(height, width);
  std::vector<uint32_t> rgba(size_t{width} * height);
  // Asked for in the orientation that it has: libtiff flips images, but does not turn them.
  uint16_t orientation = ORIENTATION_TOPLEFT;
  library.get_field_or_default(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  if (library.read_rgba(tiff.get(), width, height, rgba.data(), orientation, 1) == 0) throw damaged();
  uint8_t* to = pixels_of(image);
  for (const uint32_t pixel : rgba) {
    *to++ = static_cast<uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  return turned_upright(image, orientation);
}

}  // namespace vernier::ops
