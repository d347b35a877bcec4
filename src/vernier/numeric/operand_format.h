// These formats say what arithmetic rounds on its way, between the operands of an operator and what it
// stores.
#pragma once

#include <string_view>

#include "vernier/numeric/element_type.h"

namespace vernier {

// A format that factors are rounded to before they are multiplied: an element type, or TF32, which is none
// because no tensor is stored in it. Undefined: they are multiplied as they lie.
class OperandFormat {
 public:
  // Implicit, as nearly all of these formats are element types.
  constexpr OperandFormat(ElementType type = ElementType::kUndefined) : type_(type) {}
  // The exponents of float and 10 bits of mantissa.
  static constexpr OperandFormat tf32() {
    OperandFormat format(ElementType::kFloat);
    format.is_tf32_ = true;
    return format;
  }

  constexpr bool operator==(const OperandFormat&) const = default;
  constexpr bool is_defined() const { return type_ != ElementType::kUndefined; }
  // To the nearest number of the format, of two the even one; `value` itself where the format is undefined.
  // Throws internal_error for types that are no real floating-point type.
  double round(double value) const;
  // The largest relative error of that, for normal numbers; 0 where the format is undefined.
  double unit_roundoff() const;
  std::string_view text() const;  // "bf16", "tf32"

 private:
  ElementType type_;
  bool is_tf32_ = false;
};

struct InnerRoundings {
  OperandFormat operands;  // of products
  // Attention rounds exp(score - the largest of its row), before it is divided by the sum of its row. That
  // sum is of numbers that are not rounded.
  OperandFormat probabilities;

  constexpr bool operator==(const InnerRoundings&) const = default;
};

}  // namespace vernier
