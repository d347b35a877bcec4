// Image files as samples: what --preprocess says, which input they are for, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>
#include <webp/encode.h>
#include <zlib.h>

#include "data/small_models.h"
#include "vernier/base/file.h"
#include "vernier/data/data_set.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

// A portable map of these pixels, red, green and blue after one another.
std::string image(int height, int width, const std::vector<int>& pixels) {
  std::string text = fmt::format("P6 {} {} 255\n", width, height);
  for (const int value : pixels) text += static_cast<char>(value);
  return text;
}

const std::vector<int> kTwoByTwo = {255, 0, 51, 0, 255, 51, 102, 102, 102, 0, 0, 0};

class ImagesTest : public testing::Test {
 protected:
  ImagesTest() { write("a.ppm", image(2, 2, kTwoByTwo)); }

  std::string write(const std::string& name, const std::string& content) const {
    write_file(folder_.path() / name, content);
    return (folder_.path() / name).string();
  }
  std::vector<Sample> read(const Model& model, const std::vector<std::string>& arguments,
                           const std::string& preprocess, const InputShapes& shapes = {}) const {
    const auto source = open_data(model, arguments, shapes, parse_preprocess(preprocess));
    std::vector<Sample> samples;
    while (auto sample = source->next()) samples.push_back(std::move(*sample));
    EXPECT_EQ(source->size(), samples.size());
    return samples;
  }
  // The one sample of a.ppm.
  Tensor first(const std::string& input, const std::string& preprocess) const {
    return read(small_model(input), {(folder_.path() / "a.ppm").string()}, preprocess)[0]
        .inputs.at("x")
        .tensor;
  }
  std::string refusal(const Model& model, const std::string& argument,
                      const std::string& preprocess = "none") {
    try {
      read(model, {argument}, preprocess);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
};

TEST_F(ImagesTest, LayoutAndChannelsFollowTheInput) {
  const Tensor planes = first("%x: f32[1, 3, 2, 2]", "none");
  EXPECT_EQ(planes.dims(), (Dims{1, 3, 2, 2}));
  EXPECT_THAT(planes.to_doubles(), ElementsAre(255, 0, 102, 0, 0, 255, 102, 0, 51, 51, 102, 0));
  EXPECT_THAT(first("%x: u8[N, 2, 2, 3]", "none").to_doubles(), Pointwise(testing::Eq(), kTwoByTwo));
  EXPECT_THAT(first("%x: f32[3, H, W]", "channels=bgr").to_doubles(),
              ElementsAre(51, 51, 102, 0, 0, 255, 102, 0, 255, 0, 102, 0));
  EXPECT_THAT(first("%x: f32[N, 1, 2, 2]", "none").to_doubles(), ElementsAre(82, 155, 102, 0));
  // Three rows of three channels could be either: the text decides.
  EXPECT_EQ(first("%x: f32[3, 3, 3]", "resize=3x3,layout=nhwc").to_doubles()[1], 0);
  EXPECT_EQ(first("%x: f32[3, 3, 3]", "resize=3x3").to_doubles()[0], 255);
}

TEST_F(ImagesTest, NormalisesInOrder) {
  EXPECT_THAT(first("%x: f32[1, 3, 2, 2]", "zero-one").to_doubles(),
              Pointwise(DoubleNear(1e-7), std::vector<double>{1, 0, 0.4, 0, 0, 1, 0.4, 0, 0.2, 0.2, 0.4, 0}));
  EXPECT_THAT(first("%x: f32[1, 1, 2, 2]", "scale=1/255,mean=0.5,std=0.25").to_doubles()[3],
              DoubleNear(-2, 1e-9));
  EXPECT_EQ(first("%x: i8[1, 1, 2, 2]", "mean=128").to_ints(), (std::vector<int64_t>{-46, 27, -26, -128}));
  const auto values = first("%x: f32[1, 3, 2, 2]", "imagenet,resize=none,crop=none").to_doubles();
  EXPECT_NEAR(values[0], (1 - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(values[8], (0.2 - 0.406) / 0.225, 1e-6);
}

TEST_F(ImagesTest, ResizesAndCrops) {
  EXPECT_EQ(first("%x: f32[1, 3, H, W]", "imagenet").dims(), (Dims{1, 3, 224, 224}));
  EXPECT_EQ(first("%x: f32[1, 3, 5, 7]", "zero-one").dims(), (Dims{1, 3, 5, 7}));
  EXPECT_EQ(first("%x: f32[1, 3, H, W]", "none").dims(), (Dims{1, 3, 2, 2}));
  // An image of one colour keeps it, whatever the size.
  write("plain.ppm", image(3, 5, std::vector<int>(45, 77)));
  const std::string plain = (folder_.path() / "plain.ppm").string();
  for (const char* how : {"resize=4", "resize=9x2", "resize=2,interpolation=cubic", "resize=2,antialias=no",
                          "resize=7,interpolation=nearest", "crop=2"}) {
    for (const double value :
         read(small_model("%x: f32[1, 3, H, W]"), {plain}, how)[0].inputs.at("x").tensor.to_doubles())
      EXPECT_EQ(value, 77) << how;
  }
  // The shorter side becomes 6, the longer one 10; halving averages where antialias is on.
  EXPECT_EQ(read(small_model("%x: f32[1, 3, H, W]"), {plain}, "resize=6")[0].inputs.at("x").tensor.dims(),
            (Dims{1, 3, 6, 10}));
  EXPECT_NEAR(first("%x: f32[1, 1, 1, 1]", "none").to_doubles()[0], 85, 1);
  EXPECT_THAT(refusal(small_model("%x: f32[1, 3, H, W]"), plain, "crop=4"), HasSubstr("3x5 pixels"));
  EXPECT_THAT(refusal(small_model("%x: f32[1, 3, 8, 8]"), plain, "resize=none"),
              HasSubstr("size 3 instead of 8"));
}

TEST_F(ImagesTest, FoldersAndNamesChooseTheInput) {
  write("b.ppm", image(1, 1, {1, 2, 3}));
  write("notes.txt", "not an image, and not named like one");
  const Model one = small_model("%x: f32[N, 3, 2, 2]");
  const auto samples = read(one, {folder_.path().string()}, "none");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_THAT(samples[1].origin, HasSubstr("b.ppm"));
  const Model two = small_model("%x: f32[N, 3, 2, 2], %z: f32[N, 3, 2, 2]");
  EXPECT_THAT(refusal(two, folder_.path().string()), HasSubstr("2 inputs that an image could be"));
  const std::string a = (folder_.path() / "a.ppm").string();
  EXPECT_EQ(read(two, {"x=" + a, "z=" + a}, "none").size(), 1u);
  EXPECT_EQ(read(two, {"x=" + folder_.path().string(), "z=" + a}, "none").size(), 2u);
  EXPECT_THAT(refusal(two, "x=" + a), HasSubstr("'z'"));
}

TEST_F(ImagesTest, RefusesWhatIsNoImageForTheInput) {
  const Model model = small_model("%x: f32[N, 3, 2, 2]");
  EXPECT_THAT(refusal(model, write("text.png", "hello, I am no image")),
              testing::AllOf(HasSubstr("text.png"), HasSubstr("no image of a known format")));
  EXPECT_THAT(refusal(model, write("broken.ppm", image(9, 9, kTwoByTwo))), HasSubstr("broken.ppm"));
  EXPECT_THAT(refusal(model, write("data.txt", "x")), HasSubstr("known format"));
  const std::string a = (folder_.path() / "a.ppm").string();
  EXPECT_THAT(refusal(small_model("%x: f32[N, 7, 2, 2]"), a), HasSubstr("0 inputs that an image could be"));
  EXPECT_THAT(refusal(small_model("%x: f32[N, 7, 2, 2]"), "x=" + a), HasSubstr("one or three channels"));
  EXPECT_THAT(refusal(small_model("%x: f32[N, 1, 2, 2]"), a, "channels=rgb"),
              HasSubstr("3 channel(s), but the input has 1"));
  EXPECT_THAT(refusal(small_model("%x: f32[4, 3, 2, 2]"), a), HasSubstr("size 1 instead of 4"));
}

// EXIF data that state this orientation, in either order of bytes.
std::string exif(int orientation, bool little) {
  const auto number = [&](uint32_t value, int size) {
    std::string text;
    for (int i = 0; i < size; ++i) text += static_cast<char>(value >> 8 * (little ? i : size - 1 - i));
    return text;
  };
  return (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) + number(0x0100, 2) +
         number(4, 2) + number(1, 4) + number(7, 4) + number(0x0112, 2) + number(3, 2) + number(1, 4) +
         number(static_cast<uint32_t>(orientation), 2) + number(0, 2) + number(0, 4);
}

std::string big(size_t value, int size) {
  std::string text;
  for (int i = size - 1; i >= 0; --i) text += static_cast<char>(value >> 8 * i);
  return text;
}
std::string little(size_t value, int size) {
  const std::string text = big(value, size);
  return {text.rbegin(), text.rend()};
}

// Red from the left to the right 10, 20, 30, and 40, 50, 60 below.
constexpr unsigned char kPixels[18] = {10, 0, 0, 20, 0, 0, 30, 0, 0, 40, 0, 0, 50, 0, 0, 60, 0, 0};

std::string png_chunk(const std::string& content) {  // its name in front
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  return big(content.size() - 4, 4) + content + big(sum, 4);
}

std::string png(const std::string& exif) {
  std::string rows, packed(100, '\0');
  for (int y = 0; y < 2; ++y)
    rows += std::string(1, '\0') + std::string(reinterpret_cast<const char*>(kPixels) + y * 9, 9);
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
           rows.size());
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR" + big(3, 4) + big(2, 4) + big(0x0802, 2) + big(0, 3)) +
         (exif.empty() ? "" : png_chunk("eXIf" + exif)) + png_chunk("IDAT" + packed.substr(0, size)) +
         png_chunk("IEND");
}

std::string webp(const std::string& exif) {
  uint8_t* made = nullptr;
  const size_t size = WebPEncodeLosslessRGB(kPixels, 3, 2, 9, &made);
  const std::string plain(reinterpret_cast<char*>(made), size);
  WebPFree(made);
  const std::string chunks = "VP8X" + little(10, 4) + little(0x08, 4) + little(2, 3) + little(1, 3) +
                             plain.substr(12) + "EXIF" + little(exif.size(), 4) + exif;
  return "RIFF" + little(chunks.size() + 4, 4) + "WEBP" + chunks;
}

// Black on the left, white on the right.
std::string jpeg(const std::string& exif) {
  std::vector<unsigned char> pixels(16 * 8 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = i / 3 % 16 < 8 ? 0 : 255;
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* made = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder.get(), pixels.data(), 16, 0, 8, TJPF_RGB, &made, &size, TJSAMP_444, 100, 0),
            0);
  const std::string plain(reinterpret_cast<char*>(made), size);
  tjFree(made);
  const std::string content = std::string("Exif\0\0", 6) + exif;
  return plain.substr(0, 2) + "\xff\xe1" + big(content.size() + 2, 2) + content + plain.substr(2);
}

TEST_F(ImagesTest, AreTurnedAsTheCameraWasHeld) {
  const Model model = small_model("%x: u8[1, H, W, 3]");
  const auto red = [&](const std::string& file, const std::string& preprocess) {
    const auto sample = read(model, {file}, preprocess)[0];
    std::vector<double> values, all = sample.inputs.at("x").tensor.to_doubles();
    for (size_t i = 0; i < all.size(); i += 3) values.push_back(all[i]);
    return std::pair(values, sample.origin);
  };
  for (const bool little : {false, true}) {
    for (const std::string& file :
         {write("a.png", png(exif(6, little))), write("a.webp", webp(exif(6, little))),
          write("b.webp", webp(std::string("Exif\0\0", 6) + exif(6, little)))}) {
      const auto [values, origin] = red(file, "none");
      EXPECT_THAT(values, ElementsAre(40, 10, 50, 20, 60, 30)) << file;
      EXPECT_THAT(origin, HasSubstr(", turned upright (EXIF orientation 6)"));
      const auto [stored, plain_origin] = red(file, "none,orientation=stored");
      EXPECT_THAT(stored, ElementsAre(10, 20, 30, 40, 50, 60)) << file;
      EXPECT_EQ(plain_origin, file);
    }
  }
  const auto photo = write("a.jpg", jpeg(exif(8, false)));
  const Tensor turned = read(model, {photo}, "none")[0].inputs.at("x").tensor;
  EXPECT_EQ(turned.dims(), (Dims{1, 16, 8, 3}));  // turned to the left: white is above
  EXPECT_GT(turned.to_doubles().front(), 200);
  EXPECT_LT(turned.to_doubles().back(), 50);
}

TEST_F(ImagesTest, DamagedExifDataAreNone) {
  const Model model = small_model("%x: u8[1, H, W, 3]");
  const std::string whole = exif(6, true);
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto file = write("cut.png", png(whole.substr(0, length)));
    const Dims dims = read(model, {file}, "none")[0].inputs.at("x").tensor.dims();
    EXPECT_TRUE(dims == (Dims{1, 2, 3, 3}) || dims == (Dims{1, 3, 2, 3})) << length;
  }
  for (const int orientation : {0, 1, 9, 65535}) {
    const auto file = write("none.png", png(exif(orientation, false)));
    EXPECT_EQ(read(model, {file}, "none")[0].inputs.at("x").tensor.dims(), (Dims{1, 2, 3, 3}));
  }
}

TEST(Preprocess, RefusesByPart) {
  for (const char* text :
       {"imagenet2", "resize=0", "resize=2x", "crop=axb", "scale=1/0", "mean=1/2", "std=0", "std=1/2/x",
        "zero-one,none", "colour=rgb", "channels=cmyk", "resize=99999", "", "scale=1/2/3", "antialias=maybe",
        "orientation=left", "layout=nc", "mean=inf", "resize=2.5"}) {
    EXPECT_THROW(parse_preprocess(text), Error) << text;
  }
  EXPECT_THAT(preprocess_help(), HasSubstr("imagenet"));
}

}  // namespace
}  // namespace vernier
