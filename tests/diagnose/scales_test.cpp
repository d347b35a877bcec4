// Models whose scales do not suit what they quantise.
#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hazards/quantisation_hazards.h"

namespace vernier {
namespace {

// Two places that quantise, around a product.
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

struct Scales {
  double input = 1.0 / 255, weights = 1.0 / 127, result = 8.0 / 255;
  std::function<double(size_t)> weight = [](size_t i) { return static_cast<double>(i * 37 % 101) / 50 - 1; };
  std::function<double(size_t)> x = [](size_t i) { return static_cast<double>(i * 53 % 97) / 96; };
};

std::vector<Culprit> hazards(const Scales& scales) {
  Model model = parse_planted(kModel, 18);
  std::vector<double> weights, x;
  for (size_t i = 0; i < 192; ++i) weights.push_back(scales.weight(i));
  for (size_t i = 0; i < 128; ++i) x.push_back(scales.x(i));
  const NamedData constants{{"s", floats({}, {scales.input})},     {"z", Tensor(ElementType::kUint8, {})},
                            {"w", floats({16, 12}, weights)},      {"v", floats({}, {scales.weights})},
                            {"o", Tensor(ElementType::kInt8, {})}, {"t", floats({}, {scales.result})},
                            {"u", Tensor(ElementType::kUint8, {})}};
  for (Value* input : model.graph->inputs) {
    if (const auto found = constants.find(input->name); found != constants.end())
      input->constant = found->second.tensor;
  }
  Stopwatch watch(60);
  return quantisation_hazards(model, {{{"x", floats({8, 16}, x)}}}, watch);
}

void expect_hazard(const Scales& scales, const std::string& failure, const std::string& node) {
  const auto found = hazards(scales);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].failure.code(), failure) << found[0].sentence;
  EXPECT_EQ(found[0].nodes.front(), node) << found[0].sentence;
  EXPECT_GT(found[0].share, 0.3);
}

TEST(QuantisationHazards, GoodScalesAreNone) {
  const auto found = hazards({});
  EXPECT_TRUE(found.empty()) << found[0].sentence;
}

TEST(QuantisationHazards, ClippedPeaksAndWastedRanges) {
  // Few values carry the energy.
  Scales peaks;
  peaks.x = [](size_t i) { return i % 32 == 5 ? 1.0 : 0.02; };
  peaks.input = 0.2 / 255;
  expect_hazard(peaks, "B20", "q");
  Scales wasted;
  wasted.result = 2000.0 / 255;
  expect_hazard(wasted, "B20", "e");
}

TEST(QuantisationHazards, DataThatCalibrationHasNotSeen) {
  Scales other;
  other.input = 0.2 / 255;
  other.result = 1.0 / 255;
  expect_hazard(other, "B19", "q");
}

TEST(QuantisationHazards, ScalesThatAreNone) {
  for (const double scale : {0.0, HUGE_VAL, std::nan("")}) {
    Scales broken;
    broken.result = scale;
    expect_hazard(broken, "B23", "e");
  }
}

TEST(QuantisationHazards, OneScaleForUnevenChannels) {
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

}  // namespace
}  // namespace vernier
