// Contractions of int8: what is asked for, whoever computes it.
#pragma once

#include <optional>

#include "vernier/backends/cuda/contractions/product.h"
#include "vernier/backends/cuda/quantization/int8_rows.h"

namespace vernier::cuda {

// One of the two operands. Scale and zero point are inputs of the request; their sizes are aligned to the
// result.
struct Int8Operand {
  size_t values = 0;
  std::optional<size_t> scale = {}, zero = {};
  Dims scale_dims = {}, zero_dims = {};
};

// The sums of (a - zero point of a) * (b - zero point of b), which int32 holds, and what follows them.
struct Int8Contraction {
  const Node* anchor = nullptr;  // has the attributes of the contraction
  Int8Operand a, b;              // of a convolution the image and the weights
  std::optional<ops::Convolution> convolution = {};
  Product product = {};      // of matrices; steps of batches count rows
  bool transpose_b = false;  // as it lies; then it has two axes
  Operand sums = {};         // as they lie
};

// Describes MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv, QGemm, MatMulIntegerToFloat, and the
// groups of a Conv, MatMul or Gemm of operands that are dequantized. Gives nothing, with `reason`, for
// others, and for scales or zero points that cannot be separated from the accumulators.
std::optional<Int8Contraction> int8_contraction(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cuda
