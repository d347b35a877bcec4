// Sums that do not reach their last tile, miss one, or meet one twice.
#include <cmath>
#include <numeric>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::vector<int64_t> places(int64_t begin, int64_t end) {
  std::vector<int64_t> indices(static_cast<size_t>(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

// The operand is zero but for these places along an axis, as where a sum meets no others.
std::function<Tensor(const Tensor&)> zero_but(size_t axis, int64_t begin, int64_t end) {
  return [=](const Tensor& tensor) {
    std::vector<int64_t> kept(static_cast<size_t>(tensor.dims()[axis]), -1);
    for (int64_t i = begin; i < end; ++i) kept[static_cast<size_t>(i)] = i;
    return taken(tensor, axis, kept);
  };
}

const std::string kProduct = of_floats("%x: f32[5, 70], %w: f32[70, 6]", "MatMul(%x, %w) version 13");
const std::string kSum = of_floats("%x: f32[4, 37]", "ReduceSum(%x) {axes = ints[1]} version 11");
const std::string kMean = of_floats("%x: f32[4, 37]", "ReduceMean(%x) {axes = ints[1]} version 13");
const std::string kSoftmax = of_floats("%x: f32[4, 37]", "Softmax(%x) {axis = 1} version 13");
const std::string kConv = of_floats("%x: f32[1, 19, 5, 5], %w: f32[4, 19, 3, 3]",
                                    "Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11");
const std::string kLayer =
    of_floats("%x: f32[4, 19], %s: f32[19]", "LayerNormalization(%x, %s) {axis = -1} version 17");
const std::string kLargest = of_floats("%x: f32[4, 37]", "ReduceMax(%x) {axes = ints[1]} version 13");

NamedData rising() {
  std::vector<double> values(4 * 37);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<double>(i)) + 0.1 * static_cast<double>(i % 37);
  return {{"x", floats({4, 37}, values)}};
}

// Rows of 19, by the mean and variance of the first 16.
Tensors first_sixteen(const Model&, const NamedData& data) {
  const auto x = data.at("x").tensor.to_doubles(), s = data.at("s").tensor.to_doubles();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += 19) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 16; ++i) mean += x[row + i] / 16;
    for (size_t i = 0; i < 16; ++i) variance += (x[row + i] - mean) * (x[row + i] - mean) / 16;
    for (size_t i = 0; i < 19; ++i) y[row + i] = (x[row + i] - mean) / std::sqrt(variance + 1e-5) * s[i];
  }
  return {floats({4, 19}, y)};
}

const std::vector<PlantedFault> kFaults = {
    {"LastOfProduct", "B42", kProduct, reads("x", zero_but(1, 0, 64))},
    {"FirstBlockOfProduct", "B42", kProduct, reads("x", zero_but(1, 16, 70))},
    {"LastOfSum", "B42", kSum, reads("x", zero_but(1, 0, 32))},
    {"EverySecondOfSum", "B42", kSum,
     reads("x",
           [](const Tensor& x) {
             std::vector<int64_t> kept(37, -1);
             for (size_t i = 0; i < kept.size(); i += 2) kept[i] = static_cast<int64_t>(i);
             return taken(x, 1, kept);
           })},
    {"LastOfEquation", "B42",
     of_floats("%x: f32[5, 37], %w: f32[37, 6]", "Einsum(%x, %w) {equation = \"ij,jk->ik\"} version 12"),
     reads("x", zero_but(1, 0, 32))},
    {"LastOfMean", "B42", kMean, reads("x", zero_but(1, 0, 32))},
    {"LastOfMeanAndCount", "B42", kMean,
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["x"] = zero_but(1, 0, 32)(data.at("x").tensor);
       return Tensors{mapped(outputs_of(model, other).at(0), [](double value) { return value * 37 / 32; })};
     }},
    {"LastChannels", "B42", kConv, reads("x", zero_but(1, 0, 16))},
    {"LastTaps", "B42", of_floats("%x: f32[1, 3, 8, 8], %w: f32[4, 3, 3, 3]", "Conv(%x, %w) version 11"),
     reads("w",
           [](const Tensor& w) {
             return zero_but(1, 0, 24)(w.reshaped({4, 27})).reshaped(w.dims());
           })},
    {"LastOfLargest", "B42", kLargest,
     [](const Model&, const NamedData& data) {
       const auto x = taken(data.at("x").tensor, 1, places(0, 32)).to_doubles();
       std::vector<double> y;
       for (size_t row = 0; row < x.size(); row += 32)
         y.push_back(*std::max_element(x.begin() + static_cast<ptrdiff_t>(row),
                                       x.begin() + static_cast<ptrdiff_t>(row + 32)));
       return Tensors{floats({4, 1}, y)};
     },
     rising()},
    {"LastOfSoftmax", "B42", kSoftmax,
     [](const Model&, const NamedData& data) {
       auto x = data.at("x").tensor.to_doubles();
       for (size_t row = 0; row < x.size(); row += 37) {
         double sum = 0;
         for (size_t i = 0; i < 32; ++i) sum += std::exp(x[row + i]);
         for (size_t i = 0; i < 37; ++i) x[row + i] = std::exp(x[row + i]) / sum;
       }
       return Tensors{floats({4, 37}, x)};
     }},
    {"LastOfStatistics", "B42", kLayer, first_sixteen},
};

TEST(LostTails, AreFound) {
  for (const PlantedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
