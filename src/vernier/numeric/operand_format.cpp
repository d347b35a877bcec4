#include "vernier/numeric/operand_format.h"

#include "vernier/numeric/ulp.h"

namespace vernier {

double OperandFormat::round(double value) const {
  if (is_tf32_) return static_cast<double>(TensorFloat32(value));
  switch (type_) {
    case ElementType::kUndefined:
    case ElementType::kDouble: return value;
    case ElementType::kFloat: return static_cast<double>(static_cast<float>(value));
    case ElementType::kFloat16: return static_cast<double>(Float16(value));
    case ElementType::kBFloat16: return static_cast<double>(BFloat16(value));
    default: throw internal_error("no product rounds its factors to {}", element_type_short_name(type_));
  }
}

double OperandFormat::unit_roundoff() const {
  return is_tf32_ ? 0x1p-11 : vernier::unit_roundoff(type_);
}

std::string_view OperandFormat::text() const {
  return is_tf32_ ? "tf32" : element_type_short_name(type_);
}

}  // namespace vernier
