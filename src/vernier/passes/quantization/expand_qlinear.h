// Operators on codes, in the words of QuantizeLinear and DequantizeLinear.
#pragma once

#include "vernier/passes/pass.h"

namespace vernier {

// QLinearConv, QLinearMatMul, and com.microsoft QGemm, QLinearAdd and the like -> DequantizeLinear of each
// operand, the operator of floats, and QuantizeLinear. What else they do stays as it is: images whose
// channels come last, scales that only running tells, scales of rows.
Pass expand_qlinear();

// DynamicQuantizeLinear -> MatMulInteger or ConvInteger -> Cast to FLOAT, and com.microsoft
// DynamicQuantizeMatMul and MatMulIntegerToFloat of such operands -> the operator of floats on what was not
// quantized, and weights behind DequantizeLinear. Another function: what a range that running tells rounded
// is not rounded any more.
Pass undo_dynamic_quantization();

}  // namespace vernier
