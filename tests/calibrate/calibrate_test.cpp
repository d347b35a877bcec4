// Ranges of a model from data: what is observed, what is refused, and what does not count.
#include "vernier/calibrate/calibrate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "calibrate/given_samples.h"
#include "passes/rewriting.h"
#include "vernier/precision/calibration_file.h"
#include "vernier/precision/ranged_values.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Two convolutions with a ReLU between them; the second channel of the first is always negative, so dead
// behind it.
constexpr const char* kTwoConvs = R"(graph "g" (%x: f32[N, 1, 4, 4]) -> (%y) {
  const %w = f32[2, 1, 1, 1] hex"0000803f0000803f"
  const %b = f32[2] hex"00000000000080c7"
  const %v = f32[1, 2, 1, 1] hex"0000803f0000803f"
  %a: f32[*] = Conv(%x, %w, %b) version 11 @"conv_a" from ["conv_a"]
  %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
  %y: f32[*] = Conv(%r, %v) version 11 @"conv_b" from ["conv_b"]
})";

// The content of so many floats in the text of a graph.
std::string zeros(size_t count) {
  return "hex\"" + std::string(8 * count, '0') + "\"";
}

NamedData image(int64_t batch, uint32_t seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-scale, scale);
  Tensor tensor(ElementType::kFloat, {batch, 1, 4, 4});
  for (float& value : tensor.mutable_values<float>()) value = draw(generator);
  return {{"x", tensor}};
}

std::vector<NamedData> images(uint32_t count) {
  std::vector<NamedData> all;
  for (uint32_t i = 0; i < count; ++i) all.push_back(image(1, i, 1 + static_cast<float>(i % 5)));
  return all;
}

CalibrationResult calibrated(const Model& model, std::vector<NamedData> samples,
                             RangeMethod method = RangeMethod::kMinMax, bool all_floats = false) {
  GivenSamples data(std::move(samples));
  CalibrateOptions options;
  options.range.method = method;
  options.all_floats = all_floats;
  return calibrate(model, data, options);
}

std::string refusal(const Model& model, std::vector<NamedData> samples) {
  try {
    calibrated(model, std::move(samples));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Calibrate, ObservesWhatInt8Quantizes) {
  const Model model = parse_graph(kTwoConvs);
  const auto result = calibrated(model, images(40));
  ASSERT_EQ(result.tensors.size(), 2u);
  EXPECT_EQ(result.samples, 40u);
  EXPECT_GT(result.held_out, 5u);
  EXPECT_LT(result.held_out, 35u);
  EXPECT_EQ(result.tensors[0].name, "x");
  EXPECT_EQ(result.tensors[0].entry.type, ElementType::kInt8);
  EXPECT_NEAR(result.tensors[0].entry.scale, 5.0 / 127, 0.05 * 5 / 127);
  EXPECT_EQ(result.tensors[0].values, 40u * 16);
  EXPECT_EQ(result.tensors[1].name, "r");
  EXPECT_EQ(result.tensors[1].entry.type, ElementType::kUint8);
  EXPECT_EQ(result.tensors[1].channels, 2);
  EXPECT_EQ(result.tensors[1].dead_channels, 1);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("1 of 2 of r")));
  ASSERT_TRUE(result.tensors[0].coverage.has_value());
  EXPECT_GT(*result.tensors[0].coverage, 0.9);
  const auto all = calibrated(model, images(3), RangeMethod::kMinMax, true);
  std::set<std::string> names;
  for (const auto& tensor : all.tensors) names.insert(tensor.name);
  EXPECT_EQ(names, (std::set<std::string>{"x", "a", "r", "y"}));
}

TEST(Calibrate, OrderAndSplittingDoNotCount) {
  const Model model = parse_graph(kTwoConvs);
  auto samples = images(30);
  for (const auto method :
       {RangeMethod::kMinMax, RangeMethod::kEntropy, RangeMethod::kPercentile, RangeMethod::kMse}) {
    const auto forward = calibrated(model, samples, method);
    std::reverse(samples.begin(), samples.end());
    const auto backward = calibrated(model, samples, method);
    EXPECT_EQ(scales_json(forward, ""), scales_json(backward, "")) << range_method_name(method);
    // The same images in batches of three.
    std::vector<NamedData> batches;
    for (size_t i = 0; i < samples.size(); i += 3) {
      Tensor batch(ElementType::kFloat, {3, 1, 4, 4});
      for (size_t k = 0; k < 3; ++k) {
        const auto one = samples[i + k].at("x").tensor.values<float>();
        std::copy(one.begin(), one.end(),
                  batch.mutable_values<float>().begin() + static_cast<int64_t>(16 * k));
      }
      batches.push_back({{"x", batch}});
    }
    const auto batched = calibrated(model, batches, method);
    for (size_t i = 0; i < forward.tensors.size(); ++i)
      EXPECT_EQ(forward.tensors[i].entry.scale, batched.tensors[i].entry.scale) << range_method_name(method);
  }
  const auto others = calibrated(model, {image(1, 99, 9)});
  EXPECT_NE(scales_json(others, ""), scales_json(calibrated(model, samples), ""));
}

TEST(Calibrate, TheScalesServeAPlan) {
  const Model model = parse_graph(kTwoConvs);
  const auto scales = scales_of(calibrated(model, images(10)));
  EXPECT_EQ(scales, parse_scales(scales_json(calibrated(model, images(10)), "")));
  for (const Value* value : ranged_values(*model.graph))
    EXPECT_TRUE(scales.contains(value->name)) << value->name;
}

TEST(Calibrate, RefusesWhatIsNotFinite) {
  const Model model = parse_graph(kTwoConvs);
  auto samples = images(3);
  samples[1].at("x").tensor.mutable_values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(model, samples), testing::AllOf(HasSubstr("sample 1"), HasSubstr("'x'"),
                                                      HasSubstr("NaN"), HasSubstr("element 5")));
  EXPECT_THAT(refusal(model, {}), HasSubstr("no sample"));
  EXPECT_EQ(refusal(model, images(2)), "");
  const Model nothing = parse_graph(R"(graph "g" (%x: f32[2]) -> (%y) {
    %y: f32[*] = Relu(%x) version 14 @"relu" from ["relu"]
  })");
  EXPECT_THAT(refusal(nothing, {}), HasSubstr("nothing that int8 quantizes"));
}

TEST(Calibrate, WarnsOfDataThatDoNotTell) {
  const Model model = parse_graph(kTwoConvs);
  EXPECT_THAT(calibrated(model, images(1)).warnings,
              testing::AllOf(Contains(HasSubstr("1 sample may not")), Contains(HasSubstr("held out"))));
  auto even = images(200);
  for (auto& sample : even) sample = image(1, static_cast<uint32_t>(&sample - even.data()));
  EXPECT_THAT(calibrated(model, even).warnings, Not(Contains(HasSubstr("more data would change"))));
  auto uneven = even;
  uneven[3] = image(1, 3, 50);
  EXPECT_THAT(calibrated(model, uneven).warnings, Contains(HasSubstr("more data would change")));
  std::vector<NamedData> zeros(3, {{"x", Tensor(ElementType::kFloat, {1, 1, 4, 4})}});
  EXPECT_THAT(calibrated(model, zeros).warnings, Contains(HasSubstr("zero in all samples")));
}

// The kernel of a pointwise and a depthwise convolution makes no value between them; it is shown
// nevertheless.
TEST(Calibrate, ShowsWhatTheEngineFusesAway) {
  const std::string weights = fmt::format("const %w = f32[64, 16, 1, 1] {}\nconst %v = f32[64, 1, 3, 3] {}\n",
                                          zeros(64 * 16), zeros(64 * 9));
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 16, 8, 8]) -> (%y) {)" + weights + R"(
    %a: f32[*] = Conv(%x, %w) version 11 @"expand" from ["expand"]
    %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    %y: f32[*] = Conv(%r, %v) {group = 64, pads = ints[1, 1, 1, 1]} version 11 @"depthwise" from ["depthwise"]
  })");
  NamedData sample = {{"x", Tensor(ElementType::kFloat, {1, 16, 8, 8})}};
  const auto result = calibrated(model, {sample, sample});
  ASSERT_EQ(result.tensors.size(), 2u);
  EXPECT_EQ(result.tensors[1].name, "r");
  EXPECT_EQ(result.tensors[1].values, 2u * 64 * 64);
}

// A head whose few peaks are all that matters: who clips them to serve the many values near zero loses the
// output.
TEST(Calibrate, TriesMethodsOnTheOutputs) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 1, 64, 64]) -> (%y) {
    const %w = f32[1, 1, 1, 1] hex"0000803f"
    %y: f32[*] = Conv(%x, %w) version 11 @"conv" from ["conv"]
  })");
  std::vector<NamedData> samples;
  for (uint32_t i = 0; i < 12; ++i) {
    std::mt19937 generator(i);
    std::uniform_real_distribution<float> draw(0, 0.02F);
    Tensor x(ElementType::kFloat, {1, 1, 64, 64});
    for (float& value : x.mutable_values<float>()) value = draw(generator);
    x.mutable_values<float>()[i] = 10;
    samples.push_back({{"x", x}});
  }
  CalibrateOptions options;
  options.try_methods = true;
  options.range.percentile = 99.9;
  GivenSamples data(samples);
  const auto result = calibrate(model, data, options);
  ASSERT_EQ(result.trials.size(), 4u);
  EXPECT_NE(result.range.method, RangeMethod::kPercentile);
  EXPECT_TRUE(std::is_sorted(result.trials.begin(), result.trials.end(),
                             [](const auto& a, const auto& b) { return a.error < b.error; }));
  EXPECT_EQ(result.trials[3].method, RangeMethod::kPercentile);
  EXPECT_GT(result.trials[3].error, 10 * result.trials[0].error);
  EXPECT_NEAR(result.tensors[0].entry.scale * 255, 10, 0.1);
  std::reverse(samples.begin(), samples.end());
  GivenSamples turned(samples);
  EXPECT_EQ(scales_json(calibrate(model, turned, options), ""), scales_json(result, ""));
}

TEST(Calibrate, ViewsAndSeveralSizesAreObserved) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 2, 2]) -> (%y) {
    const %w = f32[4, 2] )" + zeros(8) +
                                  R"(
    %f: f32[*] = Flatten(%x) {axis = 1} version 13 @"flatten" from ["flatten"]
    %y: f32[*] = Gemm(%f, %w) version 13 @"gemm" from ["gemm"]
  })");
  std::vector<NamedData> samples;
  for (int64_t n = 1; n <= 3; ++n) {
    Tensor x(ElementType::kFloat, {n, 2, 2});
    x.mutable_values<float>()[0] = static_cast<float>(n);
    samples.push_back({{"x", x}});
  }
  const auto result = calibrated(model, samples);
  ASSERT_EQ(result.tensors.size(), 1u);
  EXPECT_EQ(result.tensors[0].name, "f");
  EXPECT_EQ(result.tensors[0].high, 3);
  EXPECT_EQ(result.tensors[0].values, 4u + 8 + 12);
}

TEST(Calibrate, SaysWhatRegionsHide) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 2], %c: bool[]) -> (%y) {
    const %w = f32[2, 2] hex"0000803f000000400000404000008040"
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = If(%c) version 17 @"if" from ["if"] regions {
      then_branch = graph "t" () -> (%t) {
        %t: f32[*] = MatMul(%p, %w) version 13 @"inside" from ["inside"]
      }
      else_branch = graph "e" () -> (%e) {
        %e: f32[*] = Neg(%p) version 13 @"e" from ["e"]
      }
    }
  })");
  NamedData sample = {{"x", Tensor(ElementType::kFloat, {2, 2})},
                      {"c", Tensor::from_ints(ElementType::kBool, {}, std::vector<int64_t>{1})}};
  EXPECT_THAT(calibrated(model, {sample}).warnings, Contains(HasSubstr("'inside'")));
}

}  // namespace
}  // namespace vernier
