// Attributes that have other values than a node says, and functions that stand in the place of others.
#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string of(const std::string& node) {
  return of_floats("%x: f32[4, 9]", node);
}

std::string image(const std::string& node) {
  return of_floats("%x: f32[1, 6, 5, 5]", node);
}

FaultyEngine computes(double (*function)(double)) {
  return [function](const Model&, const NamedData& data) {
    return Tensors{mapped(data.at("x").tensor, function)};
  };
}

const std::string kHard = of("HardSigmoid(%x) {alpha = float 0.25, beta = float 0.4} version 6");
const std::string kUnpadded =
    image("LRN(%x) {size = 5, alpha = float 0.3, beta = float 0.75, bias = float 1} version 13");

const std::vector<PlantedFault> kFaults = {
    {"BetaOfNobody", "B31", kHard,
     runs(of("HardSigmoid(%x) {alpha = float 0.25, beta = float 0.63} version 6"))},
    {"ConstantsOfOthers", "B31", kHard,
     runs(of("HardSigmoid(%x) {alpha = float 0.166666667, beta = float 0.5} version 6"))},
    {"GammaIsOne", "B31", of("Selu(%x) version 6"), runs(of("Selu(%x) {gamma = float 1} version 6"))},
    {"EluForSelu", "B31", of("Selu(%x) version 6"), runs(of("Elu(%x) version 6"))},
    {"ExponentialLessOne", "B31", of("Exp(%x) version 13"), computes([](double x) { return std::expm1(x); })},
    {"DegreesForRadians", "B31", of("Sin(%x) version 7"),
     computes([](double x) { return std::sin(x * M_PI / 180); })},
    {"SumForNorm", "B35", of("LpNormalization(%x) {axis = 1} version 1"),
     runs(of("LpNormalization(%x) {axis = 1, p = 1} version 1"))},
    {"WindowOfThree", "B35", kUnpadded,
     runs(image("LRN(%x) {size = 3, alpha = float 0.3, beta = float 0.75, bias = float 1} version 13"))},
    {"ThirdNorm", "B33", image("GlobalLpPool(%x) {p = 2} version 2"),
     runs(image("GlobalLpPool(%x) {p = 3} version 2"))},
    {"SmallerWindows", "B33",
     image("MaxPool(%x) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 12"),
     runs(image("MaxPool(%x) {kernel_shape = ints[2, 2], pads = ints[1, 1, 0, 0]} version 12"))},
    {"ExtrapolationLost",
     "B34",
     of_floats(
         "%x: f32[1, 1, 6, 6], %r: f32[8], %s: f32[4]",
         "Resize(%x, %r, %s) {mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
         "extrapolation_value = float 3} version 13"),
     runs(of_floats("%x: f32[1, 1, 6, 6], %r: f32[8], %s: f32[4]",
                    "Resize(%x, %r, %s) {mode = \"linear\", coordinate_transformation_mode = "
                    "\"tf_crop_and_resize\"} version 13")),
     {{"r", floats({8}, {0, 0, -0.3, 0.2, 1, 1, 1.2, 0.8})}, {"s", floats({4}, {1, 1, 1.5, 1.5})}}},
    {"MeanForSum", "B31", of_floats("%x: f32[3, 4], %z: f32[3, 4]", "Sum(%x, %z) version 13"),
     runs(of_floats("%x: f32[3, 4], %z: f32[3, 4]", "Mean(%x, %z) version 13"))},
};

TEST(AttributeFaults, AreFound) {
  for (const PlantedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
