// What a kernel does to the numbers, said by every kernel and printed in every report (docs/architecture.md).
#pragma once

#include <string>

#include "vernier/numeric/element_type.h"

namespace vernier {

struct NumericsContract {
  enum class Order : uint8_t { kNone, kSequential, kBlocked, kPairwise };

  ElementType computed = ElementType::kUndefined;  // what the arithmetic is done in; undefined: none is done
  ElementType accumulated = ElementType::kUndefined;  // what sums are kept in; undefined: no sums
  ElementType stored = ElementType::kUndefined;       // what results are rounded to, once
  Order order = Order::kNone;                         // of sums
  bool winograd = false;                              // transforms its input: another error than a direct sum
  bool approximate = false;   // functions accurate to a few ulp, not correctly rounded
  bool deterministic = true;  // the same bits for every run and number of threads

  // "computed f32, accumulated f32 blocked, stored f32"
  std::string text() const;
};

}  // namespace vernier
