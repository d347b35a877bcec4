// Image files as samples: what --preprocess says, which input they are for, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Preprocess, RefusesByPart) {
  for (const char* text : {"imagenet2", "resize=0", "resize=2x", "crop=axb", "scale=1/0", "mean=1/2", "std=0",
                           "std=1/2/x", "zero-one,none", "colour=rgb", "channels=cmyk", "resize=99999", "",
                           "scale=1/2/3", "antialias=maybe", "layout=nc", "mean=inf", "resize=2.5"}) {
    EXPECT_THROW(parse_preprocess(text), Error) << text;
  }
  EXPECT_THAT(preprocess_help(), HasSubstr("imagenet"));
}

}  // namespace
}  // namespace vernier
