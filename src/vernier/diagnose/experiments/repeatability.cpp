#include "vernier/diagnose/experiments/repeatability.h"

#include <algorithm>

namespace vernier {

namespace {

bool identical(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  if (a.is_tensor()) return a.tensor.identical(b.tensor);
  if (!a.sequence || !b.sequence) return a.sequence == b.sequence;
  return std::equal(a.sequence->begin(), a.sequence->end(), b.sequence->begin(), b.sequence->end(),
                    identical);
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

Repeatability check_repeatability(Subject& subject, const NamedData& inputs, const NamedData& other,
                                  const NamedData& first) {
  constexpr size_t kAgain = 3;
  std::vector<NamedData> answers{first};
  for (size_t i = 0; i < kAgain; ++i) answers.push_back(subject.run(inputs));
  Repeatability result;
  result.runs = answers.size();
  const auto note = [&](const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) {
      if (std::find(result.outputs.begin(), result.outputs.end(), output) == result.outputs.end())
        result.outputs.push_back(output);
    }
    return !outputs.empty();
  };
  for (size_t i = 0; i + 1 < answers.size(); ++i)
    result.differ += note(differing_outputs(answers[i], answers.back())) ? 1 : 0;
  result.only_first = result.differ == 1 && !differing_outputs(answers[0], answers.back()).empty();
  try {
    subject.run(other);
  } catch (const Error&) {
    return result;  // the model does not take these
  }
  result.depends_on_before = note(differing_outputs(subject.run(inputs), answers.back()));
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
