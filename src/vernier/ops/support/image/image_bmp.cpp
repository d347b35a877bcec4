// Windows bitmaps without compression: 1, 4 and 8 bits through a palette, 16, 24 and 32 bits, also with bit
// masks.
#include <bit>

#include "vernier/ops/support/image/image.h"

namespace vernier::ops {

namespace {

constexpr size_t kFileHeader = 14;
constexpr uint32_t kUncompressed = 0, kBitMasks = 3, kBitMasksWithOpacity = 6;

// Little-endian numbers at any place; throws bad_input beyond the end.
struct Reader {
  Bytes file;
  uint32_t number(size_t at, size_t bytes) const {
    if (at > file.size() || bytes > file.size() - at) throw bad_input("damaged BMP: it ends too early");
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint32_t>(file[at + i]) << (8 * i);
    return value;
  }
};

struct Bitmap {
  int64_t width, height;
  bool bottom_up;
  uint32_t bits, compression;
  size_t palette, colors, color_bytes, pixels, masks;
};

Bitmap read_header(const Reader& reader) {
  Bitmap bitmap{};
  const size_t header = reader.number(kFileHeader, 4);
  bitmap.pixels = reader.number(10, 4);
  const bool old = header == 12;
  if (!old && header < 40) throw bad_input("damaged BMP: a header of {} bytes", header);
  const size_t field = old ? 2 : 4;
  const auto side = [&](size_t at) {
    const uint32_t size = reader.number(at, field);
    return old ? int64_t{size} : int64_t{static_cast<int32_t>(size)};
  };
  bitmap.width = side(18);
  bitmap.height = side(18 + field);
  bitmap.bottom_up = bitmap.height >= 0;
  bitmap.height = std::abs(bitmap.height);
  bitmap.bits = reader.number(18 + 2 * field + 2, 2);
  bitmap.compression = old ? kUncompressed : reader.number(30, 4);
  bitmap.color_bytes = old ? 3 : 4;
  bitmap.masks = 54;  // behind a header of 40 bytes, or inside a longer one
  bitmap.palette = kFileHeader + header;
  bitmap.colors = old ? 0 : reader.number(46, 4);
  if (bitmap.bits <= 8 && (bitmap.colors == 0 || bitmap.colors > 256))
    bitmap.colors = size_t{1} << bitmap.bits;
  return bitmap;
}

// A color channel inside of a pixel's bits.
struct Channel {
  uint32_t mask;
  uint8_t of(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t largest = mask >> shift;
    return static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + largest / 2) / largest);
  }
};

std::array<Channel, 3> channels(const Reader& reader, const Bitmap& bitmap) {
  if (bitmap.compression != kUncompressed) {
    return {Channel{reader.number(bitmap.masks, 4)}, Channel{reader.number(bitmap.masks + 4, 4)},
            Channel{reader.number(bitmap.masks + 8, 4)}};
  }
  if (bitmap.bits == 16) return {Channel{0x7c00}, Channel{0x03e0}, Channel{0x001f}};
  return {Channel{0xff0000}, Channel{0x00ff00}, Channel{0x0000ff}};
}

void check(const Bitmap& bitmap) {
  constexpr std::array<uint32_t, 6> kDepths = {1, 4, 8, 16, 24, 32};
  if (std::find(kDepths.begin(), kDepths.end(), bitmap.bits) == kDepths.end())
    throw bad_input("damaged BMP: {} bits a pixel", bitmap.bits);
  const bool masked = bitmap.compression == kBitMasks || bitmap.compression == kBitMasksWithOpacity;
  if (bitmap.compression != kUncompressed && !(masked && (bitmap.bits == 16 || bitmap.bits == 32))) {
    throw unsupported("a compressed BMP (method {}) cannot be decoded", bitmap.compression);
  }
}

}  // namespace

Tensor decode_bmp(Bytes file) {
  const Reader reader{file};
  const Bitmap bitmap = read_header(reader);
  check(bitmap);
  Tensor image = make_image(bitmap.height, bitmap.width);
  const auto color = channels(reader, bitmap);
  const auto width = static_cast<size_t>(bitmap.width), height = static_cast<size_t>(bitmap.height);
  const size_t row_bytes = (width * bitmap.bits + 31) / 32 * 4;
  reader.number(bitmap.pixels + row_bytes * height - 4, 4);  // all rows are there
  uint8_t* to = pixels_of(image);
  for (size_t y = 0; y < height; ++y) {
    const size_t row = bitmap.pixels + (bitmap.bottom_up ? height - 1 - y : y) * row_bytes;
    for (size_t x = 0; x < width; ++x) {
      uint32_t pixel = 0;
      if (bitmap.bits >= 16) {
        pixel = reader.number(row + x * bitmap.bits / 8, bitmap.bits / 8);
      } else {
        const size_t bit = x * bitmap.bits;
        const uint32_t index =
            (reader.number(row + bit / 8, 1) >> (8 - bitmap.bits - bit % 8)) & ((1u << bitmap.bits) - 1);
        if (index >= bitmap.colors) throw bad_input("damaged BMP: color {} of {}", index, bitmap.colors);
        pixel = reader.number(bitmap.palette + index * bitmap.color_bytes, 3);
      }
      for (const Channel& channel : color) *to++ = channel.of(pixel);
    }
  }
  return image;
}

}  // namespace vernier::ops
