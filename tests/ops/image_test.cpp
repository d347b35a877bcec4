// Decoding of images: the formats that are read without a library, and damaged files of every format.
#include "vernier/ops/support/image/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/ops/support/image/tiff_library.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;

Tensor decode(const std::string& file) {
  return decode_image(std::as_bytes(std::span(file)));
}

std::vector<int64_t> pixels(const std::string& file) {
  return decode(file).to_ints();
}

std::string little_endian(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += i < 4 ? static_cast<char>(value >> (8 * i)) : '\0';
  return text;
}

// A bitmap file around these rows.
std::string bmp(uint32_t width, uint32_t height, uint32_t bits, const std::string& palette,
                const std::string& rows) {
  const auto offset = static_cast<uint32_t>(54 + palette.size());
  return "BM" + little_endian(0, 8) + little_endian(offset, 4) + little_endian(40, 4) +
         little_endian(width, 4) + little_endian(height, 4) + little_endian(1, 2) + little_endian(bits, 2) +
         std::string(16, '\0') + little_endian(static_cast<uint32_t>(palette.size() / 4), 4) +
         little_endian(0, 4) + palette + rows;
}

TEST(Image, PortableMaps) {
  EXPECT_THAT(pixels("P1 # a comment\n3 1\n1 0 1\n"), ElementsAre(0, 0, 0, 255, 255, 255, 0, 0, 0));
  EXPECT_THAT(pixels("P2 2 1 15 0 15"), ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(pixels("P3 1 1 255 1 2 3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(pixels(std::string("P4 2 2\n\x40\x80", 9)),
              ElementsAre(255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255));
  EXPECT_THAT(pixels("P5 1 1 255\n\x07"), ElementsAre(7, 7, 7));
  EXPECT_THAT(pixels("P6 1 1 65535\n\xff\xff\x80\x80\x01\x01"), ElementsAre(255, 128, 1));
}

TEST(Image, Bitmaps) {
  // Rows stand bottom up and fill four bytes; blue comes first.
  EXPECT_THAT(pixels(bmp(1, 2, 24, "", std::string("\1\2\3\0\4\5\6\0", 8))), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(pixels(bmp(1, static_cast<uint32_t>(-1), 32, "", "\1\2\3\4")), ElementsAre(3, 2, 1));
  EXPECT_THAT(pixels(bmp(2, 1, 1, std::string("\0\0\0\0\xff\x80\x01\0", 8), std::string("\x40\0\0\0", 4))),
              ElementsAre(0, 0, 0, 1, 128, 255));
  EXPECT_THAT(pixels(bmp(1, 1, 16, "", std::string("\x1f\x7c\0\0", 4))), ElementsAre(255, 0, 255));
}

TEST(Image, RefusesWhatIsDamaged) {
  const std::string whole[] = {"P3 1 1 255 1 2 3", "P5 9 9 255\n" + std::string(81, 'x'),
                               bmp(2, 2, 24, "", std::string(16, '\1')),
                               bmp(2, 1, 1, std::string(8, '\1'), std::string(4, '\1'))};
  for (const std::string& file : whole) {
    EXPECT_NO_THROW(decode(file));
    for (size_t length = 0; length + 1 < file.size(); ++length)
      EXPECT_THROW(decode(file.substr(0, length)), Error) << length;
  }
  EXPECT_THROW(decode("P6 999999999 999999999 255\n"), Error);
  EXPECT_THROW(decode(bmp(0x7fffffff, 0x7fffffff, 24, "", "")), Error);
  EXPECT_THROW(decode(bmp(1, 1, 8, std::string(4, '\0'), "\7\7\7\7")), Error);
  for (const std::string& magic :
       {std::string("\xff\xd8\xff"), std::string("\x89PNG\r\n\x1a\n"), std::string("II*\0", 4),
        std::string("RIFF"), std::string("\0\0\0\x0cjP  \r\n\x87\n", 12), std::string("\xff\x4f\xff\x51")}) {
    for (const char filler : {'\0', '\1', '\xff'})
      EXPECT_THROW(decode(magic + std::string(200, filler)), Error);
  }
}

// A TIFF of one strip, two rows of three grey pixels.
std::string tiff(uint32_t bits, uint32_t sample_format, uint32_t orientation, const std::string& rows) {
  const std::vector<std::pair<uint32_t, uint32_t>> fields = {{256, 3},
                                                             {257, 2},
                                                             {258, bits},
                                                             {259, 1},
                                                             {262, 1},
                                                             {273, 8},
                                                             {274, orientation},
                                                             {277, 1},
                                                             {278, 2},
                                                             {279, static_cast<uint32_t>(rows.size())},
                                                             {339, sample_format}};
  constexpr uint32_t kLong = 4, kShort = 3;
  const std::string padded = rows + std::string(rows.size() % 2, '\0');
  std::string text = "II*" + little_endian(0, 1) +
                     little_endian(static_cast<uint32_t>(8 + padded.size()), 4) + padded +
                     little_endian(static_cast<uint32_t>(fields.size()), 2);
  for (const auto& [tag, value] : fields)
    text += little_endian(tag, 2) + little_endian(tag == 273 || tag == 279 ? kLong : kShort, 2) +
            little_endian(1, 4) + little_endian(value, 4);
  return text + little_endian(0, 4);
}

std::vector<int64_t> grey(const Tensor& image) {
  std::vector<int64_t> values;
  const auto all = image.to_ints();
  for (size_t i = 0; i < all.size(); i += 3) values.push_back(all[i]);
  return values;
}

// The stored rows 1 2 3 and 4 5 6 are seen so, by orientation.
const std::vector<std::vector<int64_t>> kSeen = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                                 {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                                 {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};

TEST(Image, AreTurnedUpright) {
  Tensor stored = make_image(2, 3);
  for (int i = 0; i < 18; ++i) pixels_of(stored)[i] = static_cast<uint8_t>(i / 3 + 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto& seen = kSeen[static_cast<size_t>(orientation - 1)];
    const Tensor turned = turned_upright(stored, orientation);
    EXPECT_EQ(turned.dims(), orientation < 5 ? (Dims{2, 3, 3}) : (Dims{3, 2, 3}));
    EXPECT_EQ(grey(turned), seen) << orientation;
    EXPECT_EQ(grey(decode(tiff(8, 1, static_cast<uint32_t>(orientation), "\1\2\3\4\5\6"))), seen)
        << orientation;
  }
  EXPECT_EQ(grey(turned_upright(stored, 99)), kSeen[0]);
}

TEST(Image, ALibraryOfTiffThatIsNotThereIsSaid) {
  for (const char* name : {"libtiff-is-not-here.so.6", "libz.so.1"}) {  // not there at all; another library
    try {
      open_tiff_library(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("libtiff6")));
    }
  }
}

ErrorCode refusal(const std::string& file, std::string& message) {
  try {
    decode(file);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  return ErrorCode{};
}

TEST(Image, KindsThatAreNotDecodedSayWhatTheyAre) {
  std::string message;
  EXPECT_EQ(refusal(tiff(32, 3, 1, std::string(24, '\0')), message), ErrorCode::kUnsupported);
  EXPECT_THAT(message, testing::HasSubstr("floating-point"));
  const std::string animated = "RIFF" + little_endian(50, 4) + "WEBPVP8X" + little_endian(10, 4) +
                               little_endian(0x02, 4) + little_endian(1, 3) + little_endian(1, 3) + "ANIM" +
                               little_endian(6, 4) + little_endian(0, 6) + "ANMF" + little_endian(0, 4);
  EXPECT_EQ(refusal(animated, message), ErrorCode::kUnsupported);
  EXPECT_THAT(message, testing::HasSubstr("animated WebP"));
  EXPECT_EQ(refusal(tiff(8, 1, 1, "\1\2").substr(0, 20), message), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace vernier::ops
