#include <algorithm>
#include <cmath>

#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

// An input or a constant of the main graph.
std::vector<std::string> tensors_of(const ReproCase& whole) {
  std::vector<std::pair<size_t, std::string>> found;
  for (const auto& [name, datum] : whole.inputs) {
    if (datum.is_tensor() && datum.tensor.size() > 0) found.emplace_back(datum.tensor.byte_size(), name);
  }
  for (const auto& value : whole.model.graph->values()) {
    if (value->is_constant() && value->constant->size() > 0)
      found.emplace_back(value->constant->byte_size(), value->name);
  }
  std::sort(found.rbegin(), found.rend());  // the largest first
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [bytes, name] : found) names.push_back(std::move(name));
  return names;
}

Tensor filled(const Tensor& like, double value) {
  return Tensor::from_doubles(like.type(), like.dims(),
                              std::vector<double>(static_cast<size_t>(like.size()), value));
}

// Multiples of an eighth, or two digits where numbers are small or large: what people can read.
Tensor rounded(const Tensor& tensor) {
  std::vector<double> values = tensor.to_doubles();
  for (double& value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    const double step = std::abs(value) >= 1 && std::abs(value) < 100
                            ? 0.125
                            : std::pow(2, std::floor(std::log2(std::abs(value))) - 4);
    value = std::round(value / step) * step;
  }
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

std::vector<Tensor> simpler(const Tensor& tensor) {
  std::vector<Tensor> found;
  const auto add = [&](Tensor candidate) {
    const bool is_known = std::any_of(found.begin(), found.end(),
                                      [&](const Tensor& each) { return each.identical(candidate); });
    if (!is_known) found.push_back(std::move(candidate));
  };
  if (is_float(tensor.type())) {
    for (const double value : {0.0, 1.0}) add(filled(tensor, value));
    add(rounded(tensor));
  } else if (is_integer(tensor.type()) && tensor.size() == 1) {
    // Trips of a loop, or a position. What is nearer to nothing comes first.
    const int64_t value = tensor.to_ints()[0];
    for (const int64_t smaller : {int64_t{1}, int64_t{2}, value / 4, value / 2}) {
      if (smaller > 0 && smaller < value)
        add(Tensor::from_ints(tensor.type(), tensor.dims(), std::vector{smaller}));
    }
  }
  std::vector<Tensor> other;
  for (Tensor& each : found) {
    if (each.identical(tensor)) break;  // as simple as that already, and what follows is less so
    other.push_back(std::move(each));
  }
  return other;
}

const Tensor& content_of(const ReproCase& whole, const std::string& name) {
  const auto given = whole.inputs.find(name);
  return given != whole.inputs.end() ? given->second.tensor : *find_value(*whole.model.graph, name)->constant;
}

}  // namespace

void simplify_values(Shrinking& shrinking) {
  constexpr size_t kMostTensors = 24;
  auto names = tensors_of(shrinking.best());
  if (names.size() > kMostTensors || shrinking.is_over()) return;
  shrinking.begin("values");
  for (const std::string& name : names) {
    const bool is_there =
        shrinking.best().inputs.contains(name) || find_value(*shrinking.best().model.graph, name) != nullptr;
    if (!is_there) continue;
    for (Tensor& tensor : simpler(content_of(shrinking.best(), name))) {
      ReproCase candidate = copy(shrinking.best());
      if (const auto given = candidate.inputs.find(name); given != candidate.inputs.end())
        given->second = std::move(tensor);
      else
        find_value(*candidate.model.graph, name)->constant = std::move(tensor);
      if (shrinking.offer(std::move(candidate))) break;
    }
  }
}

}  // namespace vernier
