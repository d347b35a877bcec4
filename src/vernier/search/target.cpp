#include "vernier/search/target.h"

#include <cmath>
#include <limits>

#include "vernier/compare/distance.h"
#include "vernier/compare/element_block.h"

namespace vernier {

std::string TuneTarget::text() const {
  const auto option = [](const char* name, const ToleranceOption& given) {
    std::string text;
    if (given.general) text += fmt::format(" {} {}", name, *given.general);
    for (const auto& [value, number] : given.named) text += fmt::format(" {} {}:{}", name, value, number);
    return text;
  };
  if (kind == Kind::kRelativeL2) return fmt::format("relative L2 at most {}", tolerance);
  if (kind == Kind::kMetric) return fmt::format("{} at most {} points worse", metric, max_loss);
  return "every element within" + option("atol", elements.atol) + option("rtol", elements.rtol);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool may_be_compared(const Datum& expected, const Datum& actual) {
  return expected.is_tensor() && actual.is_tensor() && expected.tensor.type() == actual.tensor.type() &&
         expected.tensor.dims() == actual.tensor.dims();
}

double relative_l2(const Tensor& expected, const Tensor& actual) {
  if (expected.size() == 0) return 0;
  const double distance = relative_l2_of(expected, actual);
  // Where no pair is finite there is no distance; the same bits have none.
  if (std::isnan(distance)) return expected.identical(actual) ? 0 : kInfinity;
  return distance;
}

double excess(double error, double reference, double actual, const Tolerance& tolerance) {
  if (std::isnan(reference) && std::isnan(actual)) return 0;
  if (error == 0) return 0;
  const double allowed = tolerance.allowed(reference);
  return std::isfinite(error) && allowed > 0 ? error / allowed : kInfinity;
}

double worst_element(const Tensor& expected, const Tensor& actual, const Tolerance& tolerance) {
  if (expected.type() == ElementType::kString) return expected.identical(actual) ? 0 : kInfinity;
  double worst = 0;
  ElementBlock block;
  for (int64_t first = 0; first < expected.size(); first += ElementBlock::kCapacity) {
    const int64_t count = std::min(ElementBlock::kCapacity, expected.size() - first);
    block.load(expected, actual, first, count);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      worst = std::max(worst, excess(block.error[i], block.reference[i], block.actual[i], tolerance));
  }
  return worst;
}

}  // namespace

OutputError output_error(const NamedData& expected, const NamedData& actual, const Tolerances* tolerances) {
  OutputError result;
  for (const auto& [name, reference] : expected) {
    const bool is_judged =
        tolerances != nullptr || (reference.is_tensor() && is_float(reference.tensor.type()));
    if (!is_judged) continue;
    const auto found = actual.find(name);
    if (found == actual.end() || !may_be_compared(reference, found->second)) return {kInfinity, kInfinity};
    const Tensor &a = reference.tensor, &b = found->second.tensor;
    if (is_float(a.type())) result.relative_l2 = std::max(result.relative_l2, relative_l2(a, b));
    if (tolerances != nullptr)
      result.elements = std::max(result.elements, worst_element(a, b, tolerances->of(name, a.type())));
  }
  return result;
}

}  // namespace vernier
