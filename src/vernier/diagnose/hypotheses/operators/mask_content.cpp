#include "vernier/diagnose/hypotheses/operators/mask_content.h"

namespace vernier {

bool is_additive_mask(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type())) return false;
  bool excludes = false;
  for (const double value : tensor.to_doubles()) {
    if (value != 0 && !(value <= kLargestSentinel)) return false;
    excludes = excludes || value != 0;
  }
  return excludes;
}

bool is_factor_mask(const Tensor& tensor) {
  if (!tensor.is_defined() || tensor.size() < 2 || tensor.type() == ElementType::kString) return false;
  bool excludes = false, keeps = false;
  for (const double value : tensor.to_doubles()) {
    if (value != 0 && value != 1) return false;
    (value == 0 ? excludes : keeps) = true;
  }
  return excludes && keeps;
}

}  // namespace vernier
