#include "vernier/diagnose/repeats/repeatability.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

namespace {

bool identical(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  if (a.is_tensor()) return a.tensor.identical(b.tensor);
  if (!a.sequence || !b.sequence) return a.sequence == b.sequence;
  return std::equal(a.sequence->begin(), a.sequence->end(), b.sequence->begin(), b.sequence->end(),
                    identical);
}

// In roundings of the largest element; infinite for what is no rounding.
double spread_between(const Datum& a, const Datum& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.tensor.dims() != b.tensor.dims() ||
      a.tensor.type() != b.tensor.type() || !is_float(a.tensor.type()))
    return HUGE_VAL;
  const auto first = a.tensor.to_doubles(), second = b.tensor.to_doubles();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i] || (std::isnan(first[i]) && std::isnan(second[i]))) continue;
    if (!std::isfinite(first[i]) || !std::isfinite(second[i])) return HUGE_VAL;
    difference = std::max(difference, std::abs(first[i] - second[i]));
  }
  for (const double value : first)
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  return difference == 0 ? 0 : difference / (largest * unit_roundoff(a.tensor.type()));
}

// Whether two answers differ; if so, in which outputs, and by how much.
bool note(const NamedData& answer, const NamedData& other, Repeatability& result) {
  const auto outputs = differing_outputs(answer, other);
  for (const std::string& output : outputs) {
    if (std::find(result.outputs.begin(), result.outputs.end(), output) == result.outputs.end())
      result.outputs.push_back(output);
    const auto found = other.find(output);
    result.spread = std::max(
        result.spread, found == other.end() ? HUGE_VAL : spread_between(answer.at(output), found->second));
  }
  return !outputs.empty();
}

}  // namespace

std::vector<std::string> differing_outputs(const NamedData& a, const NamedData& b) {
  std::vector<std::string> names;
  for (const auto& [name, datum] : a) {
    const auto found = b.find(name);
    if (found == b.end() || !identical(datum, found->second)) names.push_back(name);
  }
  return names;
}

Repeatability check_repeatability(EngineUnderTest& tested, const NamedData& inputs, const NamedData& other,
                                  const NamedData& first, double seconds) {
  constexpr size_t kAgain = 3;
  constexpr double kSlow = 2.5;  // times as long as there is
  const Stopwatch again(kSlow * seconds);
  // It follows on others; those after it follow on the same inputs, and are told from it.
  const NamedData uncounted = tested.run(inputs);
  if (again.is_over()) {
    Repeatability result;
    result.runs = 2;
    result.differ = note(first, uncounted, result) ? 1 : 0;
    return result;
  }
  std::vector<NamedData> answers{first};
  for (size_t i = 0; i < kAgain; ++i) answers.push_back(tested.run(inputs));
  Repeatability result;
  result.runs = answers.size();
  const NamedData& last = answers.back();
  for (size_t i = 0; i + 1 < answers.size(); ++i) result.differ += note(answers[i], last, result) ? 1 : 0;
  result.only_first = result.differ == 1 && !differing_outputs(answers[0], last).empty();
  // A fault that happens now and then takes many runs to be seen.
  constexpr size_t kMostPairs = 12;
  size_t pairs = 0, changed = 0;
  for (const Stopwatch watch(seconds); pairs < kMostPairs && (pairs == 0 || !watch.is_over()); ++pairs) {
    try {
      tested.run(other);
    } catch (const Error&) {
      return result;  // the model does not take these
    }
    changed += note(tested.run(inputs), last, result) ? 1 : 0;
  }
  result.depends_on_before = changed > 0;
  result.by_chance = changed > 0 && changed < pairs;
  return result;
}

NamedData reordered(const NamedData& inputs) {
  NamedData other = inputs;
  for (auto& [name, datum] : other) {
    if (!datum.is_tensor() || !is_float(datum.tensor.type())) continue;
    auto values = datum.tensor.to_doubles();
    std::reverse(values.begin(), values.end());
    datum = Tensor::from_doubles(datum.tensor.type(), datum.tensor.dims(), values);
  }
  return other;
}

}  // namespace vernier
