// A contract says what a kernel does to the numbers. Every kernel has one, and every report prints it. The
// error that each element may have follows from it (error_analysis).
#pragma once

#include <string>

#include "vernier/numeric/operand_format.h"

namespace vernier {

struct NumericsContract {
  enum class Order : uint8_t { kNone, kSequential, kBlocked, kPairwise };

  ElementType computed = ElementType::kUndefined;  // what the arithmetic is done in; undefined: none is done
  ElementType accumulated = ElementType::kUndefined;  // what sums are kept in; undefined: no sums
  ElementType stored = ElementType::kUndefined;       // what results are rounded to, once
  Order order = Order::kNone;                         // of sums
  // Factors are rounded to this before they are multiplied; undefined: they are multiplied as they lie. With
  // several `terms` each factor is split into so many numbers of this type, and the products of the smallest
  // ones are left out: bf16x3 has two terms, bf16x6 three.
  OperandFormat operands = {};
  int terms = 1;
  // Winograd's F(m x m, 3 x 3) computes m outputs along an axis at a time; 0: products are summed directly.
  int winograd = 0;
  // The weights of an attention (its probabilities) are rounded to this before they meet the values, see
  // InnerRoundings; undefined: to nothing narrower than `computed`.
  OperandFormat probabilities = {};
  bool approximate = false;  // elementary functions are accurate to a few ulp, not correctly rounded
  // Functions are computed by their usual formulas, operation by operation: what cancels in one is lost, so
  // that exp(x) - 1 is no better than a unit in the last place of 1.
  bool by_formula = false;
  // A group stores what lies between its nodes in the declared types, as its nodes one by one would.
  // Otherwise it keeps that in `computed`, and rounds at its end only.
  bool rounds_between = false;
  bool deterministic = true;  // the same bits for every run and number of threads

  // Gives what the planned reference rounds inside an operator, too. Operands of several terms, or of a
  // transform, are no part of a plan: a kernel takes them on its own account, and what they lose is its
  // error.
  InnerRoundings inner_roundings() const;
  bool operator==(const NumericsContract&) const = default;
  // "computed f32, accumulated f32 blocked, stored f32"
  std::string text() const;
};

}  // namespace vernier
