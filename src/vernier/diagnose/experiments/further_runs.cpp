#include "vernier/diagnose/experiments/further_runs.h"

#include <algorithm>
#include <random>

namespace vernier {

namespace {

// The same elements in another order, so that they are of the same range, and identifiers stay valid.
Tensor shuffled(const Tensor& tensor, std::mt19937_64& random) {
  if (is_float(tensor.type())) {
    auto values = tensor.to_doubles();
    std::shuffle(values.begin(), values.end(), random);
    return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
  }
  constexpr int64_t kFewest = 8;  // what is smaller may be a size
  if (!is_integer(tensor.type()) || tensor.size() < kFewest) return tensor;
  auto values = tensor.to_ints();
  std::shuffle(values.begin(), values.end(), random);
  return Tensor::from_ints(tensor.type(), tensor.dims(), values);
}

bool is_like(const Tensor& tensor, const Tensor& other) {
  return tensor.is_defined() == other.is_defined() &&
         (!tensor.is_defined() || (tensor.dims() == other.dims() && tensor.type() == other.type()));
}

bool all_like(const std::vector<Tensor>& tensors, const std::vector<Tensor>& others) {
  return std::equal(tensors.begin(), tensors.end(), others.begin(), others.end(), is_like);
}

}  // namespace

NamedData FurtherRuns::inputs(size_t run) const {
  if (run < samples_.size()) return samples_[run];
  std::mt19937_64 random(seed_ + run);
  NamedData made = samples_.back();
  for (auto& [name, datum] : made) {
    if (datum.is_tensor() && datum.tensor.is_defined()) datum = shuffled(datum.tensor, random);
  }
  return made;
}

std::optional<Observation> FurtherRuns::observed(const FlaggedNode& flagged, const NamedData& inputs) {
  ShowOptions options;
  options.values.emplace();
  const auto ask = [&](const Value* value) {
    if (value != nullptr && !value->is_constant() && !inputs.contains(value->name))
      options.values->push_back(value->name);
  };
  for (const Value* input : flagged.node->inputs) ask(input);
  for (const Value* output : flagged.node->outputs) ask(output);
  const ShownRun shown = tested_.show(inputs, options);
  const auto find = [&](const Value* value) {
    if (value == nullptr) return Tensor();
    if (value->is_constant()) return *value->constant;
    for (const NamedData* known : {&inputs, &shown.values, &shown.defaults}) {
      const auto found = known->find(value->name);
      if (found != known->end() && found->second.is_tensor()) return found->second.tensor;
    }
    return Tensor();
  };
  Observation made;
  for (const Value* input : flagged.node->inputs) made.inputs.push_back(find(input));
  for (const Value* output : flagged.node->outputs) made.made.push_back(find(output));
  const bool is_whole = all_like(made.inputs, flagged.inputs) && all_like(made.made, flagged.made);
  return is_whole ? std::optional(std::move(made)) : std::nullopt;
}

std::vector<Observation> FurtherRuns::at(const FlaggedNode& flagged, size_t most) {
  constexpr double kPartOfBudget = 0.15;
  constexpr size_t kMostFailures = 3;
  std::vector<Observation> observations;
  if (samples_.empty()) return observations;
  const double limit = kPartOfBudget * (watch_.seconds() + watch_.left()) - spent_, begin = watch_.seconds();
  for (size_t run = 0, failures = 0; observations.size() < most && failures < kMostFailures; ++run) {
    if (watch_.is_over() || watch_.seconds() - begin > limit) break;
    try {
      auto made = watch_.time("further inputs", 1, [&] { return observed(flagged, inputs(run)); });
      failures += made ? 0 : 1;
      if (made) observations.push_back(std::move(*made));
    } catch (const Error&) {
      ++failures;  // the model may not take such inputs
    }
  }
  spent_ += watch_.seconds() - begin;
  return observations;
}

}  // namespace vernier
