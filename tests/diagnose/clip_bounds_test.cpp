// Bounds of a Clip that are lost, exchanged, others, or those from before; and one of a Relu.
#include <gmock/gmock.h>

#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string clip() {
  return of_floats("%x: f32[4, 8], %low: f32[], %high: f32[]", "Clip(%x, %low, %high) version 13");
}

FaultyEngine reads_bounds(double low, double high) {
  return [=](const Model& model, const NamedData& data) {
    NamedData other = data;
    other["low"] = floats({}, {low});
    other["high"] = floats({}, {high});
    return outputs_of(model, other);
  };
}

FaultyEngine passes(double (*each)(double x)) {
  return [each](const Model&, const NamedData& data) { return Tensors{mapped(data.at("x").tensor, each)}; };
}

std::string clip_of_attributes(double low, double high) {
  return of_floats("%x: f32[4, 8]",
                   fmt::format("Clip(%x) {{max = float {}, min = float {}}} version 6", high, low));
}

const NamedData kBounds{{"low", floats({}, {-0.2})}, {"high", floats({}, {0.3})}};

const std::vector<PlantedFault> kClipFaults = {
    {"UpperLost", "B32", clip(), reads_bounds(-0.2, 1e6), kBounds},
    {"LowerLost", "B32", clip(), reads_bounds(-1e6, 0.3), kBounds},
    {"FromBefore", "B32", clip(), reads_bounds(-0.6, 0.9), kBounds},
    {"Others", "B32", clip_of_attributes(0, 6), runs(clip_of_attributes(-0.5, 0.5), 6), {}, 6},
    {"LowerIsThatOfARelu", "B32", clip_of_attributes(-0.5, 2), runs(clip_of_attributes(0, 2), 6), {}, 6},
    {"UpperIsThatOfARelu6", "B32", clip_of_attributes(-1, 0.5), runs(clip_of_attributes(-1, 6), 6), {}, 6},
    {"MirroredAbove", "B32", clip(), passes([](double x) { return x > 0.3 ? 0.6 - x : std::max(x, -0.2); }),
     kBounds},
    {"MirroredAtBoth", "B32", clip(),
     passes([](double x) { return x > 0.3    ? 0.6 - x
                                  : x < -0.2 ? -0.4 - x
                                             : x; }), kBounds},
    {"ComesInAtTheOther", "B32", clip(),
     passes([](double x) { return x - 0.5 * std::floor((x + 0.2) / 0.5); }), kBounds},
    {"Saturates", "B32", clip(), passes([](double x) { return 0.3 * std::tanh(x / 0.3); }), kBounds},
    {"SaturatesBetweenBounds",
     "B32",
     clip_of_attributes(0, 6),
     passes([](double x) { return 3 + 3 * std::tanh((x - 3) / 3); }),
     {},
     6},
    {"OfARelu", "B32", of_floats("%x: f32[4, 8]", "Relu(%x) version 14"), writes([](const Tensor& made) {
       return mapped(made, [](double value) { return std::min(value, 0.5); });
     })},
};

VERNIER_PLANTED(ClipFaults, kClipFaults);

Simulated cause_of(const std::string& graph, const FaultyEngine& engine, const NamedData& data) {
  const Model model = parse_planted(graph, 18);
  return Planted(model, engine, data).reproduction().cause.value_or(Simulated());
}

TEST(ClipBounds, OneThatNothingReachesInItsPlaceIsLost) {
  EXPECT_EQ(cause_of(clip(), reads_bounds(-0.2, 1e6), kBounds).what, "the upper bound is lost");
}

TEST(ClipBounds, AnEpsilonThatBecameZeroIsAMatterOfPrecision) {
  const auto proposed = [](double low) {
    const Model model = parse_planted(of_floats("%x: f32[4], %low: f32[]", "Clip(%x, %low) version 13"), 18);
    const auto zero = [](const Tensor&) { return floats({}, {0}); };
    return Planted(model, reads("low", zero), {{"low", floats({}, {low})}}).proposed();
  };
  const std::string zero = "the lower bound is 0 in its place";
  EXPECT_THAT(proposed(1e-12), testing::Not(testing::Contains(zero)));
  EXPECT_THAT(proposed(0.1), testing::Contains(zero));
  const auto of_attribute = [](double low) {
    const Model model = parse_planted(clip_of_attributes(low, 2), 6);
    return Planted(model, runs(clip_of_attributes(0, 2), 6), {}).proposed();
  };
  EXPECT_THAT(of_attribute(1e-12), testing::Not(testing::Contains(zero)));
  EXPECT_THAT(of_attribute(0.5), testing::Contains(zero));
}

}  // namespace
}  // namespace vernier
