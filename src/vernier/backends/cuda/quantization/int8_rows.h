// Int8 values as the rows along which a product sums, each of consecutive values.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cuda {

// Rows that are gathered, or multiplied, at a time.
struct RowChunk {
  int64_t first = 0, count = 0;
};

// How they are gathered from an operand; the pointers are not set.
struct Int8Rows {
  WindowParameters windows{};
  int64_t depth = 0;  // how many values of a row are the operand's

  int64_t count() const { return windows.rows; }
  int64_t length() const { return windows.length; }
  // Makes rows of so many values, zeros behind their own.
  void pad(int64_t length) { windows.length = static_cast<int>(length); }
  // Whether the operand has them as they are.
  bool lie_so() const;
  RowChunk all() const { return {0, count()}; }
  // Pieces of about the same size, of at most so many values, or of one row.
  std::vector<RowChunk> chunks(int64_t most_values) const;
};

// Gives the rows of matrices […, rows, depth], or [depth].
Int8Rows rows_of_matrix(const Dims& dims);
// Gives the columns of matrices […, depth, columns], or [depth].
Int8Rows columns_of_matrix(const Dims& dims);
// Gives the receptive fields of an image, plain or channels last, as rows; weights [m, c, taps…] give a row
// for each index of the first axis.
Int8Rows rows_of_windows(const Operand& x, const ops::Convolution& convolution);
Int8Rows rows_of_weights(const Dims& dims);

// Adds the launch that gathers some of them; `zero` is the value of what lies outside of the image. With
// `flips` UINT8 becomes INT8, less 128.
void add_gathering(CudaKernel& kernel, const Int8Rows& rows, const RowChunk& chunk, bool flips,
                   const CudaKernel::Place& values, const std::optional<CudaKernel::Place>& zero,
                   const CudaKernel::Place& to);
// All of them of a constant, which is part of no image, once for an engine, with rows of zeros behind them up
// to `count`; and the sums of its own rows, as INT32.
CudaKernel::Place packed_rows(CudaKernel& kernel, const KernelRequest& request, const Tensor& values,
                              const Int8Rows& rows, bool flips, int64_t count);
CudaKernel::Place packed_sums(CudaKernel& kernel, const KernelRequest& request, const Tensor& values,
                              const Int8Rows& rows, bool flips);
// Adds the launch that sums each of `count` rows of `length` values of `element`.
void add_sums(CudaKernel& kernel, int64_t count, int64_t length, ElementType element,
              const CudaKernel::Place& values, const CudaKernel::Place& to);

}  // namespace vernier::cuda
