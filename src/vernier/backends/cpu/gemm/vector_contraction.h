// Products of rows, matrices' or pixels', by constant weights as blocks in registers (vector_block.h), for
// processors without tiles.
#pragma once

#include "vernier/backends/cpu/convolution/constant_convolution.h"
#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {

struct VectorWork {
  ElementType element;
  int64_t rows;
  WeightOrder order;  // one tap
  int input;          // of the request
  int weights = 1, bias = -1;
};

// Whether the pixels of a channels-last image are the rows of a matrix.
bool has_pixels_as_rows(const ops::Convolution& convolution);
// Whether blocks in registers serve it: rows must be whole VNNI groups, and weights fill vectors.
bool fits_vectors(const VectorWork& work);
// Nothing for windows of more than a pixel, and for float16.
std::optional<VectorWork> vector_work(const ConstantConvolution& convolution);
// Weights of the size of the work's element; shared with all kernels of the engine that want the same.
std::shared_ptr<const PackedForm> pack_vectors(const KernelRequest& request, const Tensor& weights,
                                               const WeightOrder& order);
std::unique_ptr<Kernel> make_vector_kernel(const VectorWork& work, std::shared_ptr<const PackedForm> weights,
                                           std::unique_ptr<const BlockEpilogue> epilogue,
                                           const NumericsContract& contract);

// Multiplies floats and bfloat16. Gives nothing, with `reason`, for an epilogue that rows cannot be finished
// with. Axis `columns_axis` of the output is the columns'.
std::unique_ptr<Kernel> make_vector_contraction(const KernelRequest& request, const Fused& fused,
                                                const VectorWork& work, size_t columns_axis,
                                                std::string& reason);

}  // namespace vernier::cpu
