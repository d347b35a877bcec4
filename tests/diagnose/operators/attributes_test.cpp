// Attributes that have other values than a node says, and functions that stand in the place of others.
#include <algorithm>
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

// Rows of so many elements, each less the largest of its row.
Tensor less_largest(const Tensor& tensor, size_t length) {
  auto values = tensor.to_doubles();
  for (size_t row = 0; row < values.size(); row += length) {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(row),
               end = begin + static_cast<ptrdiff_t>(length);
    const double largest = *std::max_element(begin, end);
    std::for_each(begin, end, [largest](double& value) { value -= largest; });
  }
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
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
    {"EluForCelu", "B31", of("Celu(%x) {alpha = float 2} version 12"),
     runs(of("Elu(%x) {alpha = float 2} version 6"))},
    {"ThresholdIsSubtracted", "B31", of("ThresholdedRelu(%x) {alpha = float 0.5} version 10"),
     computes([](double x) { return std::max(x - 0.5, 0.0); })},
    {"ThresholdOfMagnitudes", "B31", of("ThresholdedRelu(%x) {alpha = float 0.5} version 10"),
     computes([](double x) { return std::abs(x) > 0.5 ? x : 0; })},
    {"LogarithmOfSumLost", "B31", of("LogSoftmax(%x) {axis = 1} version 13"),
     writes([](const Tensor& y) { return less_largest(y, 9); })},
    {"LogarithmOfSumLostBefore13",
     "B31",
     of("LogSoftmax(%x) {axis = 0} version 11"),
     writes([](const Tensor& y) { return less_largest(y, 36); }),
     {},
     11},
    {"EluForSelu", "B31", of("Selu(%x) version 6"), runs(of("Elu(%x) version 6"))},
    {"ExponentialLessOne", "B31", of("Exp(%x) version 13"), computes([](double x) { return std::expm1(x); })},
    {"DegreesForRadians", "B31", of("Sin(%x) version 7"),
     computes([](double x) { return std::sin(x * M_PI / 180); })},
    {"SumForNorm", "B35", of("LpNormalization(%x) {axis = 1} version 1"),
     runs(of("LpNormalization(%x) {axis = 1, p = 1} version 1"))},
    {"WindowOfThree", "B35", kUnpadded,
     runs(image("LRN(%x) {size = 3, alpha = float 0.3, beta = float 0.75, bias = float 1} version 13"))},
    {"WindowOneChannelBehind", "B35", kUnpadded,
     [](const Model&, const NamedData& data) {
       const Tensor& x = data.at("x").tensor;
       const auto read = x.to_doubles();
       std::vector<double> moved(read.size());
       for (size_t i = 0; i < read.size(); ++i) {
         double sum = 0;
         const size_t channel = i / 25;
         for (size_t other = std::max<size_t>(channel, 1) - 1; other < std::min<size_t>(channel + 4, 6);
              ++other)
           sum += read[other * 25 + i % 25] * read[other * 25 + i % 25];
         moved[i] = read[i] / std::pow(1 + 0.3 / 5 * sum, 0.75);
       }
       return Tensors{floats(x.dims(), moved)};
     }},
    {"ThirdNorm", "B33", image("GlobalLpPool(%x) {p = 2} version 2"),
     runs(image("GlobalLpPool(%x) {p = 3} version 2"))},
    {"SmallerWindows", "B33",
     image("MaxPool(%x) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 12"),
     runs(image("MaxPool(%x) {kernel_shape = ints[2, 2], pads = ints[1, 1, 0, 0]} version 12"))},
    {"SmallerWindowsAtTheEnd", "B33",
     image("MaxPool(%x) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 12"),
     runs(image("MaxPool(%x) {kernel_shape = ints[2, 2], pads = ints[0, 0, 1, 1]} version 12"))},
    {"MeanOfOneColumn", "B33", image("GlobalAveragePool(%x) version 1"),
     [](const Model&, const NamedData& data) {
       const Model first =
           parse_planted(of_floats("%x: f32[1, 6, 5, 1]", "GlobalAveragePool(%x) version 1"), 18);
       return outputs_of(first, {{"x", taken(data.at("x").tensor, 3, {0})}});
     }},
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
