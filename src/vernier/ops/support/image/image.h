// Decoding of image files into pixels. One file per format; each refuses damaged bytes with bad_input.
#pragma once

#include <cstddef>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier::ops {

using Bytes = std::span<const std::byte>;

// Every decoder gives UINT8 [height, width, 3], red first. Grey images have three equal channels; opacity is
// dropped. Images of other depths are scaled to 8 bits.
Tensor decode_bmp(Bytes file);
Tensor decode_jpeg(Bytes file);
Tensor decode_jpeg2000(Bytes file);
Tensor decode_png(Bytes file);
Tensor decode_pnm(Bytes file);
Tensor decode_tiff(Bytes file);
Tensor decode_webp(Bytes file);

// Finds the format by the first bytes.
Tensor decode_image(Bytes file);

// The pixels as they are seen, where the first row and column are not the upper and the left one but lie as
// EXIF and TIFF say by a number from 1 to 8: 1 is upright, 6 was turned to the left, 8 to the right.
Tensor turned_upright(const Tensor& image, int orientation);

// Zero-filled pixels. Throws bad_input for sizes that no image has.
Tensor make_image(int64_t height, int64_t width);

inline const uint8_t* data_of(Bytes file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}
inline uint8_t* pixels_of(Tensor& image) {
  return image.mutable_values<uint8_t>().data();
}

}  // namespace vernier::ops
