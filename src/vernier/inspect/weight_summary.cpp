#include "vernier/inspect/weight_summary.h"

#include <cmath>

#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

// The smallest normal number of a float type.
double smallest_normal(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kBFloat16: return 0x1p-126;
    case ElementType::kDouble: return 0x1p-1022;
    case ElementType::kFloat16: return 0x1p-14;
    case ElementType::kFloat8E4M3FN: return 0x1p-6;
    case ElementType::kFloat8E4M3FNUZ: return 0x1p-7;
    case ElementType::kFloat8E5M2: return 0x1p-14;
    case ElementType::kFloat8E5M2FNUZ: return 0x1p-15;
    case ElementType::kFloat4E2M1: return 1;
    default: return 0;
  }
}

}  // namespace

WeightSummary summarize_weight(const std::string& name, const Tensor& tensor) {
  WeightSummary summary;
  summary.name = name;
  summary.type = std::string(element_type_short_name(tensor.type())) + dims_text(tensor.dims());
  summary.elements = tensor.size();
  if (tensor.type() == ElementType::kString) {
    for (const auto& text : tensor.values<std::string>()) summary.bytes += text.size();
    return summary;
  }
  summary.bytes = packed_size(tensor.type(), tensor.size());
  if (is_complex(tensor.type())) return summary;
  const double normal = smallest_normal(tensor.type());
  bool first = true;
  for (const double value : tensor.to_doubles()) {
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.zeros += value == 0;
    summary.subnormal += value != 0 && std::abs(value) < normal;
    summary.min = first ? value : std::min(summary.min, value);
    summary.max = first ? value : std::max(summary.max, value);
    first = false;
  }
  return summary;
}

}  // namespace vernier
