#include "vernier/diagnose/repairs/same_meaning.h"

#include <algorithm>
#include <cmath>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/compare/distance.h"

namespace vernier {

namespace {

bool is_number(ElementType type) {
  return type != ElementType::kString && type != ElementType::kComplex64 && type != ElementType::kComplex128;
}

double distance(const Datum& a, const Datum& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.tensor.dims() != b.tensor.dims()) return HUGE_VAL;
  if (a.tensor.identical(b.tensor)) return 0;
  if (!is_number(a.tensor.type()) || !is_number(b.tensor.type()) || a.tensor.type() == ElementType::kBool)
    return HUGE_VAL;
  const Distances distances = distances_of(a.tensor, b.tensor);
  // NaN says that no element is finite on both sides, and nothing of whether they are alike.
  if (!std::isnan(distances.relative_l2)) return distances.relative_l2;
  const auto x = a.tensor.to_doubles(), y = b.tensor.to_doubles();
  const bool same = std::equal(x.begin(), x.end(), y.begin(), [](double left, double right) {
    return left == right || (std::isnan(left) && std::isnan(right));
  });
  return same ? 0 : HUGE_VAL;
}

double distance_on(const Model& model, const Model& rewritten, const NamedData& inputs, ReferenceMode mode) {
  InterpreterOptions options;
  options.mode = mode;
  const NamedData right = reference_outputs(*model.graph, inputs, options),
                  made = reference_outputs(*rewritten.graph, inputs, options);
  double farthest = 0;
  for (const auto& [name, datum] : right) {
    const auto found = made.find(name);
    farthest = std::max(farthest, found == made.end() ? HUGE_VAL : distance(datum, found->second));
  }
  return farthest;
}

}  // namespace

double distance_in_meaning(const Model& model, const Model& rewritten, const std::vector<Sample>& samples) {
  double farthest = 0;
  for (const Sample& sample : samples) {
    const double ideal = distance_on(model, rewritten, sample.inputs, ReferenceMode::kIdeal);
    constexpr double kExact = 1e-12;
    const double nearer =
        ideal <= kExact
            ? ideal
            : std::min(ideal, distance_on(model, rewritten, sample.inputs, ReferenceMode::kDeclared));
    farthest = std::max(farthest, nearer);
  }
  return farthest;
}

}  // namespace vernier
