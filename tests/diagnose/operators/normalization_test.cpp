// Normalisations with another epsilon, other statistics, or parameters of other channels.
#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string batch(const char* epsilon) {
  return of_floats(
      "%x: f32[2, 3, 4, 5], %s: f32[3], %b: f32[3], %m: f32[3], %v: f32[3]",
      fmt::format("BatchNormalization(%x, %s, %b, %m, %v) {{epsilon = float {}}} version 15", epsilon));
}

std::string layer(const char* epsilon) {
  return of_floats("%x: f32[6, 16], %s: f32[16], %b: f32[16]",
                   fmt::format("LayerNormalization(%x, %s, %b) {{epsilon = float {}}} version 17", epsilon));
}

std::string instance(const char* epsilon) {
  return of_floats(
      "%x: f32[2, 3, 4, 5], %s: f32[3], %b: f32[3]",
      fmt::format("InstanceNormalization(%x, %s, %b) {{epsilon = float {}}} version 6", epsilon));
}

std::string mean_variance(const char* attributes) {
  return of_floats("%x: f32[2, 3, 4, 5]",
                   fmt::format("MeanVarianceNormalization(%x) {}version 13", attributes));
}

const NamedData kSmallVariance{{"v", floats({3}, {1e-4, 2e-3, 0.5})}};
const NamedData kVariance{{"v", floats({3}, {0.25, 2, 0.5})}};

// Rows of 16, normalised as PyTorch's `x.std()` does it.
Tensors unbiased(const Model&, const NamedData& data) {
  const auto x = data.at("x").tensor.to_doubles(), s = data.at("s").tensor.to_doubles(),
             b = data.at("b").tensor.to_doubles();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += 16) {
    double mean = 0, sum = 0;
    for (size_t i = 0; i < 16; ++i) mean += x[row + i] / 16;
    for (size_t i = 0; i < 16; ++i) sum += (x[row + i] - mean) * (x[row + i] - mean);
    for (size_t i = 0; i < 16; ++i)
      y[row + i] = (x[row + i] - mean) / std::sqrt(sum / 15 + 1e-5) * s[i] + b[i];
  }
  return {floats({6, 16}, y)};
}

// No mean is taken off.
Tensors root_mean_square(const Model&, const NamedData& data) {
  const auto x = data.at("x").tensor.to_doubles(), s = data.at("s").tensor.to_doubles(),
             b = data.at("b").tensor.to_doubles();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += 16) {
    double sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += x[row + i] * x[row + i];
    for (size_t i = 0; i < 16; ++i) y[row + i] = x[row + i] / std::sqrt(sum / 16 + 1e-5) * s[i] + b[i];
  }
  return {floats({6, 16}, y)};
}

std::string grouped(int groups) {
  return of_floats("%x: f32[2, 8, 3, 5], %s: f32[8], %b: f32[8]",
                   fmt::format("GroupNormalization(%x, %s, %b) {{num_groups = {}}} version 21", groups));
}

// Two groups, each of every other channel.
Tensors interleaved_groups(const Model& model, const NamedData& data) {
  NamedData other = data;
  const std::vector<int64_t> apart{0, 2, 4, 6, 1, 3, 5, 7}, together{0, 4, 1, 5, 2, 6, 3, 7};
  for (const auto& [name, axis] : {std::pair{"x", 1}, {"s", 0}, {"b", 0}})
    other[name] = taken(data.at(name).tensor, static_cast<size_t>(axis), apart);
  return {taken(outputs_of(model, other).at(0), 1, together)};
}

// Parameters by group, as before opset 21.
Tensors parameters_by_group(const Model& model, const NamedData& data) {
  NamedData other = data;
  for (const char* name : {"s", "b"}) other[name] = taken(data.at(name).tensor, 0, {0, 0, 0, 0, 1, 1, 1, 1});
  return outputs_of(model, other);
}

Tensors one_more(const Model& model, const NamedData& data) {
  NamedData other = data;
  other["s"] = mapped(data.at("s").tensor, [](double scale) { return 1 + scale; });
  return outputs_of(model, other);
}

const std::vector<PlantedFault> kFaults = {
    {"OneGroup", "B35", grouped(4), runs(grouped(1))},
    {"GroupOfEachChannel", "B35", grouped(4), runs(grouped(8))},
    {"InterleavedGroups", "B35", grouped(2), interleaved_groups},
    {"ParametersByGroup", "B35", grouped(2), parameters_by_group},
    {"ScaleOfRootMeanSquareLost",
     "B31",
     of_floats("%x: f32[6, 16], %s: f32[16]", "RMSNormalization(%x, %s) version 23"),
     reads("s", [](const Tensor& s) { return mapped(s, [](double) { return 1.0; }); }),
     {},
     23},
    {"ScaleOneMore", "B35", layer("1e-05"), one_more},
    {"OtherAxes", "B35",
     of_floats("%x: f32[4, 4, 6], %s: f32[1]", "LayerNormalization(%x, %s) {axis = -1} version 17"),
     runs(of_floats("%x: f32[4, 4, 6], %s: f32[1]", "LayerNormalization(%x, %s) {axis = 1} version 17"))},
    {"AsOfInstances", "B35",
     of_floats("%x: f32[2, 3, 4, 5], %s: f32[3], %b: f32[3]",
               "GroupNormalization(%x, %s, %b) {num_groups = 1} version 21"),
     runs(instance("1e-05"))},
    {"MeanVarianceOfOneLess", "B35", mean_variance(""), writes([](const Tensor& y) {
       return mapped(y, [](double value) { return value * std::sqrt(39.0 / 40); });
     })},
    {"MeanVarianceOfEachImage", "B35", mean_variance(""), runs(mean_variance("{axes = ints[2, 3]} "))},
    {"Epsilon", "B35", batch("1e-05"), runs(batch("0.001")), kSmallVariance},
    {"EpsilonOfNobody", "B35", batch("1e-05"), runs(batch("0.0375")), kSmallVariance},
    {"EpsilonOfLayer", "B35", layer("0.01"), runs(layer("1e-05"))},
    {"EpsilonOfInstance", "B35", instance("0.01"), runs(instance("1e-05"))},
    {"EpsilonBehindRoot", "B35", batch("0.1"),
     reads("v",
           [](const Tensor& v) {
             return mapped(v, [](double each) { return std::pow(std::sqrt(each) + 0.1, 2) - 0.1; });
           }),
     kVariance},
    {"ScaleOfNextChannel", "B35", batch("1e-05"),
     reads("s",
           [](const Tensor& s) {
             const auto each = s.to_doubles();
             return floats({3}, {each[1], each[2], each[0]});
           }),
     kVariance},
    {"StatisticsExchanged",
     "B35",
     batch("1e-05"),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       std::swap(other["m"], other["v"]);
       return outputs_of(model, other);
     },
     {{"m", floats({3}, {1, 2, 0.5})}, {"v", floats({3}, {0.25, 2, 0.5})}}},
    {"Training", "B35", batch("1e-05"),
     [](const Model&, const NamedData& data) {
       NamedData one = data;  // the batch as one image, whose rows are the statistics of a channel
       one.erase("m"), one.erase("v");
       const Tensor& x = data.at("x").tensor;
       one["x"] = permuted(x.reshaped({2, 3, 20}), {1, 0, 2}).reshaped({1, 3, 8, 5});
       const Model whole = parse_planted(of_floats("%x: f32[1, 3, 8, 5], %s: f32[3], %b: f32[3]",
                                                   "InstanceNormalization(%x, %s, %b) version 6"),
                                         18);
       const Tensor y = outputs_of(whole, one).at(0);
       return Tensors{permuted(y.reshaped({3, 2, 20}), {1, 0, 2}).reshaped({2, 3, 4, 5})};
     },
     kVariance},
    {"Unbiased", "B35", layer("1e-05"), unbiased},
    {"RootMeanSquare", "B35", layer("1e-05"), root_mean_square},
};

VERNIER_PLANTED(NormalizationFaults, kFaults);

}  // namespace
}  // namespace vernier
