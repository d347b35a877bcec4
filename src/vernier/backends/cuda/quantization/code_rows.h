// Codes of 8 bits as the rows along which a product sums, each of consecutive codes.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cuda {

// How they are gathered from an operand; the pointers are not set.
struct CodeRows {
  WindowParameters windows{};
  int64_t depth = 0;  // how many codes of a row are the operand's

  int64_t count() const { return windows.rows; }
  int64_t length() const { return windows.length; }
  // Makes rows of so many codes, zeros behind their own.
  void pad(int64_t length) { windows.length = static_cast<int>(length); }
  // Whether the operand has them as they are.
  bool lie_so() const;
};

// Of matrices […, rows, depth], or [depth].
CodeRows rows_of_matrix(const Dims& dims);
// Of matrices […, depth, columns], or [depth].
CodeRows columns_of_matrix(const Dims& dims);
// Of the windows of an image, plain or channels last; of weights [m, c, taps…], a row for each of the first
// axis.
CodeRows rows_of_windows(const Operand& x, const ops::Convolution& convolution);
CodeRows rows_of_weights(const Dims& dims);

// Adds the launch that gathers them; `zero` is the code of what lies outside of the image. With `flips` UINT8
// becomes INT8, less 128.
void add_gathering(CudaKernel& kernel, const CodeRows& rows, const CudaKernel::Place& codes,
                   const std::optional<CudaKernel::Place>& zero, bool flips, const CudaKernel::Place& to);
// The same of a constant, which is part of no image, once for an engine; and the sums of its rows, as INT32.
CudaKernel::Place packed_rows(CudaKernel& kernel, const KernelRequest& request, const Tensor& codes,
                              const CodeRows& rows, bool flips);
CudaKernel::Place packed_sums(CudaKernel& kernel, const KernelRequest& request, const Tensor& codes,
                              const CodeRows& rows, bool flips);
// Adds the launch that sums rows of codes of `element`, as they lie.
void add_sums(CudaKernel& kernel, const CodeRows& rows, ElementType element, const CudaKernel::Place& codes,
              const CudaKernel::Place& to);

}  // namespace vernier::cuda
