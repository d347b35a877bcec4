#include "vernier/ops/support/image/image.h"

#include <cstring>

namespace vernier::ops {

namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view magic;
  Tensor (*decode)(Bytes);
};

// A file of each format begins with these bytes.
constexpr Format kFormats[] = {
    {"BM"sv, decode_bmp},
    {"\xff\xd8\xff"sv, decode_jpeg},
    {"\x89PNG\r\n\x1a\n"sv, decode_png},
    {"II*\0"sv, decode_tiff},
    {"MM\0*"sv, decode_tiff},
    {"RIFF"sv, decode_webp},
    {"\0\0\0\x0cjP  \r\n\x87\n"sv, decode_jpeg2000},  // the box format JP2
    {"\xff\x4f\xff\x51"sv, decode_jpeg2000},          // a bare codestream
    {"P1"sv, decode_pnm},
    {"P2"sv, decode_pnm},
    {"P3"sv, decode_pnm},
    {"P4"sv, decode_pnm},
    {"P5"sv, decode_pnm},
    {"P6"sv, decode_pnm},
};

// Beyond this, a few damaged bytes of a header could ask for all memory.
constexpr int64_t kLargestSide = 1 << 16, kMostPixels = 1 << 28;

}  // namespace

Tensor make_image(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kLargestSide || width > kLargestSide ||
      height * width > kMostPixels) {
    throw bad_input("an image of {} x {} pixels cannot be decoded", width, height);
  }
  return Tensor(ElementType::kUint8, {height, width, 3});
}

Tensor turned_upright(const Tensor& image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool transposed = orientation >= 5,
             from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7,
             from_right = orientation == 2 || orientation == 3 || orientation >= 7;
  const int64_t height = image.dims()[0], width = image.dims()[1];
  Tensor result = transposed ? make_image(width, height) : make_image(height, width);
  const auto from = image.values<uint8_t>();
  uint8_t* to = pixels_of(result);
  for (int64_t y = 0; y < result.dims()[0]; ++y) {
    for (int64_t x = 0; x < result.dims()[1]; ++x, to += 3) {
      const int64_t row = transposed ? x : y, column = transposed ? y : x;
      const int64_t at =
          (from_below ? height - 1 - row : row) * width + (from_right ? width - 1 - column : column);
      std::copy_n(from.data() + at * 3, 3, to);
    }
  }
  return result;
}

Tensor decode_image(Bytes file) {
  for (const Format& format : kFormats) {
    const bool fits = file.size() >= format.magic.size() &&
                      std::memcmp(file.data(), format.magic.data(), format.magic.size()) == 0;
    if (fits) return format.decode(file);
  }
  throw bad_input("the bytes are no image of a known format")
      .advise("known are BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP");
}

}  // namespace vernier::ops
