#include <webp/decode.h>

#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

Tensor decode_webp(Bytes file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data_of(file), file.size(), &features) != VP8_STATUS_OK)
    throw bad_input("damaged WebP header");
  if (features.has_animation != 0)
    throw unsupported("an animated WebP is no single image").advise("give its frames as images of their own");
  const int width = features.width;
  Tensor image = make_image(features.height, width);
  if (WebPDecodeRGBInto(data_of(file), file.size(), pixels_of(image), image.byte_size(), 3 * width) ==
      nullptr) {
    throw bad_input("damaged WebP");
  }
  return image;
}

}  // namespace vernier::ops
