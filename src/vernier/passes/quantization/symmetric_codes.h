// Quantization as TensorRT computes it: INT8 around zero, and nothing else.
#pragma once

#include "vernier/passes/pass.h"

namespace vernier {

struct SymmetricCodes {
  size_t values = 0;     // pairs of QuantizeLinear and DequantizeLinear that have other codes now
  size_t clips = 0;      // of these, values that are clipped before: the codes did so
  size_t weights = 0;    // constants whose codes are INT8 around zero now
  size_t constants = 0;  // constants of floats now, as biases of INT32
  size_t borders = 0;    // codes of inputs and outputs that are computed element by element now

  size_t all() const { return values + weights + constants + borders; }
};

// "symmetric-codes": UINT8, and INT8 around another zero, become INT8 around zero. A value keeps its range on
// the longer side; what its codes cut off on the shorter one, as those of a ReLU do, is cut off before. Codes
// of constants stay what they were where INT8 holds them, those of weights get a wider scale where it does
// not, and the others become floats, as codes of INT32 do. Operators that only move codes move floats. Adds
// to `found`, which outlives the pass.
Pass symmetric_codes(SymmetricCodes& found);

}  // namespace vernier
