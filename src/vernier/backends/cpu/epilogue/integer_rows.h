// The epilogue of int8 contractions, on rows of int32 accumulators: steps in float, then one rounding.
#pragma once

#include <span>
#include <vector>

#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

// A step on a number x that counts in units (real = x * unit).
struct IntegerStep {
  enum class Kind : uint8_t {
    kScale,       // x * alpha
    kLeaky,       // x * alpha below 0
    kClamp,       // between alpha and beta
    kRound,       // to nearest even, between alpha and beta, which are within the range of the output's type
    kAddRows,     // x * alpha + beta + q * gamma, q is an int8 or uint8 for each element of the output
    kAddColumns,  // x + columns
  };
  Kind kind;
  float alpha = 0, beta = 0, gamma = 0;
  int operand = -1;                               // the input of the request that holds q
  ElementType element = ElementType::kUndefined;  // of q
  std::vector<float> columns = {};                // one for each
};

struct IntegerRows {
  // Each row, and the scales and offsets, have 32 readable elements, though fewer columns may count.
  const int32_t* sums;
  int64_t stride, count, columns;  // 32 columns at most
  const float *scales, *offsets;   // x = sum * scale + offset, before all steps
  void* to;
  ElementType type;  // of `to`: float, int8 or uint8
  int64_t to_stride;
  // Stored int8 and uint8 are x rounded to nearest even, plus the zero point, between `low` and `high`. x
  // must be below 2^30.
  int32_t zero_point, low, high;
};

// The most steps of a chain.
inline constexpr size_t kMostSteps = 8;

// Where the first element's q, or the first column's number, lies; by step.
using StepOperands = std::array<const void*, kMostSteps>;
// Rows of q are as far apart as those of the output.
void finish_integers(std::span<const IntegerStep> steps, const StepOperands& operands,
                     const IntegerRows& rows);

}  // namespace vernier::cpu
