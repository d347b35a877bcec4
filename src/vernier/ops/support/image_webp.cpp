#include <webp/decode.h>

#include "vernier/ops/support/image.h"

namespace vernier::ops {

Tensor decode_webp(Bytes file) {
  int width = 0, height = 0;
  if (WebPGetInfo(data_of(file), file.size(), &width, &height) == 0) throw bad_input("damaged WebP header");
  Tensor image = make_image(height, width);
  if (WebPDecodeRGBInto(data_of(file), file.size(), pixels_of(image), image.byte_size(), 3 * width) ==
      nullptr) {
    throw bad_input("damaged WebP");
  }
  return image;
}

}  // namespace vernier::ops
