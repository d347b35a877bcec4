#include <turbojpeg.h>

#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

Tensor decode_jpeg(Bytes file) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) throw internal_error("the JPEG decoder cannot start");
  const auto check = [&](int status) {
    if (status != 0) throw bad_input("damaged JPEG: {}", tjGetErrorStr2(decoder.get()));
  };
  int width = 0, height = 0, subsampling = 0, colors = 0;
  const auto size = static_cast<unsigned long>(file.size());
  check(tjDecompressHeader3(decoder.get(), data_of(file), size, &width, &height, &subsampling, &colors));
  if (colors == TJCS_CMYK || colors == TJCS_YCCK)
    throw unsupported("a JPEG with four inks cannot be decoded to RGB");
  Tensor image = make_image(height, width);
  // A small file may ask for any number of refining passes over the image.
  check(tjDecompress2(decoder.get(), data_of(file), size, pixels_of(image), width, 0, height, TJPF_RGB,
                      TJFLAG_LIMITSCANS));
  return image;
}

}  // namespace vernier::ops
