// Models whose scales do not suit what they quantize.
#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hazards/quantization_hazards.h"

namespace vernier {
namespace {

// Two places that quantize, around a product.
const char* kModel = R"(graph "g" (%x: f32[8, 16], %s: f32[], %z: u8[], %w: f32[16, 12], %v: f32[], %o: i8[],
  %t: f32[], %u: u8[]) -> (%y) {
 %q: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
 %d: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"d" from ["d"]
 %i: i8[*] = QuantizeLinear(%w, %v, %o) version 13 @"wq" from ["wq"]
 %f: f32[*] = DequantizeLinear(%i, %v, %o) version 13 @"wd" from ["wd"]
 %m: f32[*] = MatMul(%d, %f) version 13 @"m" from ["m"]
 %r: f32[*] = Relu(%m) version 14 @"r" from ["r"]
 %e: u8[*] = QuantizeLinear(%r, %t, %u) version 13 @"e" from ["e"]
 %y: f32[*] = DequantizeLinear(%e, %t, %u) version 13 @"y" from ["y"]
})";

void fill(Model& model, const NamedData& constants) {
  for (Value* input : model.graph->inputs) {
    if (const auto found = constants.find(input->name); found != constants.end())
      input->constant = found->second.tensor;
  }
}

struct Scales {
  double input = 1.0 / 255, weights = 1.0 / 127, result = 8.0 / 255;
  std::function<double(size_t)> weight = [](size_t i) { return static_cast<double>(i * 37 % 101) / 50 - 1; };
  std::function<double(size_t)> x = [](size_t i) { return static_cast<double>(i * 53 % 97) / 96; };
};

std::vector<RootCause> hazards(const Scales& scales) {
  Model model = parse_planted(kModel, 18);
  std::vector<double> weights, x;
  for (size_t i = 0; i < 192; ++i) weights.push_back(scales.weight(i));
  for (size_t i = 0; i < 128; ++i) x.push_back(scales.x(i));
  const NamedData constants{{"s", floats({}, {scales.input})},     {"z", Tensor(ElementType::kUint8, {})},
                            {"w", floats({16, 12}, weights)},      {"v", floats({}, {scales.weights})},
                            {"o", Tensor(ElementType::kInt8, {})}, {"t", floats({}, {scales.result})},
                            {"u", Tensor(ElementType::kUint8, {})}};
  fill(model, constants);
  Stopwatch watch(60);
  return quantization_hazards(*model.graph, "the model", {{{"x", floats({8, 16}, x)}}}, watch);
}

void expect_hazard(const Scales& scales, const std::string& failure, const std::string& node) {
  const auto found = hazards(scales);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].failure.code(), failure) << found[0].sentence;
  EXPECT_EQ(found[0].nodes.front(), node) << found[0].sentence;
  EXPECT_GT(found[0].share, 0.3);
}

TEST(QuantizationHazards, GoodScalesAreNone) {
  const auto found = hazards({});
  EXPECT_TRUE(found.empty()) << found[0].sentence;
}

TEST(QuantizationHazards, ClippedPeaksAndWastedRanges) {
  // Few values carry the energy.
  Scales peaks;
  peaks.x = [](size_t i) { return i % 32 == 5 ? 1.0 : 0.02; };
  peaks.input = 0.2 / 255;
  expect_hazard(peaks, "B20", "q");
  Scales wasted;
  wasted.result = 2000.0 / 255;
  expect_hazard(wasted, "B20", "e");
}

// Too little is clipped to tell by itself; a scale that holds it all makes the error go.
TEST(QuantizationHazards, RangeThatAnotherOneProvesWrong) {
  Scales narrow;
  narrow.result = 1.0 / 255;
  expect_hazard(narrow, "B20", "e");
}

TEST(QuantizationHazards, DataThatCalibrationHasNotSeen) {
  Scales other;
  other.input = 0.2 / 255;
  other.result = 1.0 / 255;
  expect_hazard(other, "B19", "q");
}

TEST(QuantizationHazards, ScalesThatAreNone) {
  for (const double scale : {0.0, HUGE_VAL, std::nan("")}) {
    Scales broken;
    broken.result = scale;
    expect_hazard(broken, "B23", "e");
  }
}

TEST(QuantizationHazards, OneScaleForUnevenChannels) {
  // The output's scale reaches what the small channels make; the large one is negative, and Relu drops it.
  Scales uneven;
  uneven.weight = [](size_t i) {
    return i % 12 == 3 ? -1.0 : (static_cast<double>(i * 37 % 101) / 100) * 0.008;
  };
  uneven.result = 0.06 / 255;
  expect_hazard(uneven, "B24", "wq");
  Scales even = uneven;
  even.weight = [](size_t i) { return (static_cast<double>(i * 37 % 101) / 100) * 0.008; };
  even.weights = 0.008 / 127;
  const auto found = hazards(even);
  EXPECT_TRUE(found.empty()) << found[0].sentence;
}

// A scale for each column of the weights, which grow from column to column.
std::vector<RootCause> channel_hazards(const std::function<double(size_t)>& scale_of) {
  std::string text = kModel;
  for (const auto& [from, to] : {std::pair("%v: f32[]", "%v: f32[12]"), std::pair("%o: i8[]", "%o: i8[12]")})
    text.replace(text.find(from), std::string_view(from).size(), to);
  Model model = parse_planted(text, 18);
  const Scales good;
  std::vector<double> weights, x, scales;
  for (size_t i = 0; i < 192; ++i) weights.push_back(good.weight(i) * static_cast<double>(i % 12 + 1) / 12);
  for (size_t i = 0; i < 128; ++i) x.push_back(good.x(i));
  for (size_t i = 0; i < 12; ++i) scales.push_back(scale_of(i));
  const NamedData constants{{"s", floats({}, {good.input})},         {"z", Tensor(ElementType::kUint8, {})},
                            {"w", floats({16, 12}, weights)},        {"v", floats({12}, scales)},
                            {"o", Tensor(ElementType::kInt8, {12})}, {"t", floats({}, {good.result})},
                            {"u", Tensor(ElementType::kUint8, {})}};
  fill(model, constants);
  Stopwatch watch(60);
  return quantization_hazards(*model.graph, "the model", {{{"x", floats({8, 16}, x)}}}, watch);
}

TEST(QuantizationHazards, ScalesOfOtherChannelsOrOfNothing) {
  const auto good = [](size_t i) { return static_cast<double>(i + 1) / 12 / 127; };
  const auto none = channel_hazards(good);
  EXPECT_TRUE(none.empty()) << none[0].sentence;
  const auto silent = channel_hazards([&](size_t i) { return good(i) * (i == 7 ? 1e-9 : 1); });
  ASSERT_FALSE(silent.empty());
  EXPECT_EQ(silent[0].failure.code(), "B23") << silent[0].sentence;
  const auto turned = channel_hazards([&](size_t i) { return good(11 - i); });
  ASSERT_FALSE(turned.empty());
  EXPECT_EQ(turned[0].failure.code(), "B24") << turned[0].sentence;
}

// The joined value differs from column to column, and is no larger in one branch than in the other.
TEST(QuantizationHazards, JoinOfUnequalColumns) {
  Model model = parse_planted(R"(graph "g" (%x: f32[8, 16], %s: f32[], %z: i8[], %w: f32[32, 12]) -> (%y) {
 %c: f32[8, 32] = Concat(%x, %x) {axis = 1} version 13 @"c" from ["c"]
 %q: i8[*] = QuantizeLinear(%c, %s, %z) version 13 @"q" from ["q"]
 %d: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"d" from ["d"]
 %y: f32[*] = MatMul(%d, %w) version 13 @"y" from ["y"]
})",
                              18);
  std::vector<double> weights, x;
  for (size_t i = 0; i < 384; ++i)
    weights.push_back(i / 12 % 4 == 0 ? 0 : static_cast<double>(i * 37 % 101) / 50 - 1);
  for (size_t i = 0; i < 128; ++i)
    x.push_back((static_cast<double>(i * 53 % 97) / 48 - 1) * (i % 4 == 0 ? 200 : 1));
  const NamedData constants{{"s", floats({}, {200.0 / 127})},
                            {"z", Tensor(ElementType::kInt8, {})},
                            {"w", floats({32, 12}, weights)}};
  fill(model, constants);
  Stopwatch watch(60);
  const auto found = quantization_hazards(*model.graph, "the model", {{{"x", floats({8, 16}, x)}}}, watch);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].failure.code(), "B26") << found[0].sentence;
}

// Differences of values that are nearly alike: little is rounded, and much of what is left.
TEST(QuantizationHazards, ProductsThatMakeMoreOfRounding) {
  Model model = parse_planted(R"(graph "g" (%x: f32[8, 16], %s: f32[], %z: u8[], %w: f32[16, 12]) -> (%y) {
 %r: f32[*] = Relu(%x) version 14 @"r" from ["r"]
 %q: u8[*] = QuantizeLinear(%r, %s, %z) version 13 @"q" from ["q"]
 %d: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"d" from ["d"]
 %y: f32[*] = MatMul(%d, %w) version 13 @"y" from ["y"]
})",
                              18);
  std::vector<double> weights, x;
  for (size_t i = 0; i < 192; ++i) weights.push_back(i / 12 == i % 12 ? 1 : i / 12 == i % 12 + 1 ? -1 : 0);
  for (size_t i = 0; i < 128; ++i) x.push_back(1 + 0.01 * (static_cast<double>(i * 53 % 97) / 48 - 1));
  fill(model, {{"s", floats({}, {1.01 / 255})},
               {"z", Tensor(ElementType::kUint8, {})},
               {"w", floats({16, 12}, weights)}});
  Stopwatch watch(60);
  const auto found = quantization_hazards(*model.graph, "the model", {{{"x", floats({8, 16}, x)}}}, watch);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].failure.code(), "B30") << found[0].sentence;
}

// Three products in turn, each of a value that is quantized; their ranges are far apart.
const char* kChain =
    R"(graph "g" (%x: f32[16, 8], %a: f32[], %b: f32[], %c: f32[], %z: u8[], %w: f32[8, 8]) -> (%y) {
 %qx: u8[*] = QuantizeLinear(%x, %a, %z) version 13 @"qx" from ["qx"]
 %dx: f32[*] = DequantizeLinear(%qx, %a, %z) version 13 @"dx" from ["dx"]
 %m: f32[*] = MatMul(%dx, %w) version 13 @"m" from ["m"]
 %r: f32[*] = Relu(%m) version 14 @"r" from ["r"]
 %qr: u8[*] = QuantizeLinear(%r, %b, %z) version 13 @"qr" from ["qr"]
 %dr: f32[*] = DequantizeLinear(%qr, %b, %z) version 13 @"dr" from ["dr"]
 %n: f32[*] = MatMul(%dr, %w) version 13 @"n" from ["n"]
 %s: f32[*] = Relu(%n) version 14 @"s" from ["s"]
 %qs: u8[*] = QuantizeLinear(%s, %c, %z) version 13 @"qs" from ["qs"]
 %ds: f32[*] = DequantizeLinear(%qs, %c, %z) version 13 @"ds" from ["ds"]
 %y: f32[*] = MatMul(%ds, %w) version 13 @"y" from ["y"]
})";

// The values that are quantized, of inputs in 0 to `most`.
struct Chain {
  static double weight(size_t i) { return static_cast<double>(i * 37 % 61) / 30 - 0.5; }
  static std::vector<double> input(double most) {
    std::vector<double> x;
    for (size_t i = 0; i < 128; ++i) x.push_back(most * static_cast<double>(i * 53 % 97) / 96);
    return x;
  }
  // The largest of each of the three.
  static std::array<double, 3> ranges(double most) {
    std::array<double, 3> largest{};
    auto value = input(most);
    for (double& each : largest) {
      each = *std::max_element(value.begin(), value.end());
      std::vector<double> next(value.size(), 0);
      for (size_t i = 0; i < value.size(); ++i) {
        for (size_t k = 0; k < 8; ++k) next[i] += value[i / 8 * 8 + k] * weight(k * 8 + i % 8);
        next[i] = std::max(next[i], 0.0);
      }
      value = std::move(next);
    }
    return largest;
  }
};

std::vector<RootCause> chain_hazards(const std::array<double, 3>& ranges,
                                     const std::vector<double>& samples) {
  Model model = parse_planted(kChain, 18);
  std::vector<double> weights;
  for (size_t i = 0; i < 64; ++i) weights.push_back(Chain::weight(i));
  const NamedData constants{{"a", floats({}, {ranges[0] / 255})},
                            {"b", floats({}, {ranges[1] / 255})},
                            {"c", floats({}, {ranges[2] / 255})},
                            {"z", Tensor(ElementType::kUint8, {})},
                            {"w", floats({8, 8}, weights)}};
  fill(model, constants);
  std::vector<NamedData> data;
  for (const double most : samples) data.push_back({{"x", floats({16, 8}, Chain::input(most))}});
  Stopwatch watch(60);
  return quantization_hazards(*model.graph, "the model", data, watch);
}

void expect_shared(const std::array<double, 3>& ranges, const std::vector<double>& samples,
                   const std::string& failure, const std::string& what) {
  const auto found = chain_hazards(ranges, samples);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].failure.code(), failure) << found[0].sentence;
  EXPECT_NE(found[0].sentence.find(what), std::string::npos) << found[0].sentence;
}

TEST(Calibrations, OfTheSamplesAreSound) {
  const auto found = chain_hazards(Chain::ranges(1), {1, 0.5});
  EXPECT_TRUE(found.empty()) << found[0].sentence;
}

TEST(Calibrations, OfOneSampleOrOfAnAverageThatForgets) {
  expect_shared(Chain::ranges(0.2), {0.2, 1, 0.7}, "B21", "sample 0 alone");
  auto forgotten = Chain::ranges(1);
  for (double& each : forgotten) each *= 0.6 * (0.6 + 0.4 * 0.3) + 0.4 * 0.2;
  expect_shared(forgotten, {1, 0.3, 0.2}, "B21", "keeps 0.6");
}

TEST(Calibrations, OfOtherInputs) {
  expect_shared(Chain::ranges(1.0 / 16), {1, 0.9}, "B19", "inputs that are");
}

TEST(Calibrations, OfTheValuesAtOtherPlaces) {
  const auto own = Chain::ranges(1);
  expect_shared({own[0], own[0], own[1]}, {1, 0.9}, "B22", "1 places before");
}

}  // namespace
}  // namespace vernier
