// More traits of an operator (OpDef::traits): what its arithmetic does to numbers that a type holds exactly.
#pragma once

#include "vernier/ops/op_def.h"

namespace vernier::ops {

// Floats that it makes are elements that it reads, these with another sign, or whole numbers: nothing is
// rounded. What it makes of exact operands is exact.
inline constexpr uint32_t kRoundsNothing = 1 << 16;
// IEEE 754 rounds each result correctly, or no kernel rounds at all where a result needs no rounding: a
// result that its type holds is exact.
inline constexpr uint32_t kRoundsOnce = 1 << 17;
// Sums, of elements or of products: of whole numbers they are exact as long as the type holds all partial
// sums.
inline constexpr uint32_t kSums = 1 << 18;
// A step function: its results stay what they are while its operand moves between two edges, and jump there.
inline constexpr uint32_t kSteps = 1 << 19;
// Reads the sizes of its operand, and none of its elements.
inline constexpr uint32_t kReadsSizes = 1 << 20;

// A function that floats only come close to: kernels are off by a rounding of their own, or by several.
inline constexpr uint32_t kFunction = 1 << 21;
// Sums what it reads, or computes on such a sum: terms of one sign make partial sums
// that grow with their number, and so do the roundings of these.
inline constexpr uint32_t kAddsUp = 1 << 22;
// A few operations of floats, each of which rounds its result.
inline constexpr uint32_t kFewRoundings = 1 << 23;

// Whether the operator of the node has any of the traits.
inline bool has_trait(const Node& node, uint32_t traits) {
  const OpDef* def = OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & traits) != 0;
}

}  // namespace vernier::ops
