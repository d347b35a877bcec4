// Puts the launches of a contraction of int8 together.
#pragma once

#include <functional>

#include "vernier/backends/cuda/quantization/contraction_epilogue.h"

namespace vernier::cuda {

// A factor as a product reads it.
struct Rows {
  Int8Rows rows;
  bool flips = false;  // to INT8, less 128
  int shift() const { return flips ? 128 : 0; }
  bool lie_so() const { return !flips && rows.lie_so(); }
};

struct Factors {
  Rows a, b;
  int64_t columns = 0;  // of the product: those of the contraction, and perhaps zeros behind them
};
// As they lie, or are gathered.
Factors factors_of(const KernelRequest& request, const Int8Contraction& asked);
// Values that are gathered at a time: bytes, as many as the cache of a device holds.
inline constexpr int64_t kMostGathered = int64_t{32} << 20;
// Gathered rows are multiplied while they are in the cache, and need no more memory than this.
std::vector<RowChunk> chunks_of(const Int8Contraction& asked, const Rows& a, int64_t most_gathered);
// The product of rows with rows; of one matrix so many rows.
Product product_of(const Int8Contraction& asked, const Factors& factors, int64_t rows);
// Names the kernels: "int8-product", "int8-convolution".
std::string what_of(const Int8Contraction& asked);

class ContractionBuilder {
 public:
  using Place = CudaKernel::Place;
  // Adds a product of rows of a with those of b, and says whether it could.
  using Multiply = std::function<bool(const Place& a, const Place& b, const Place& sums, int64_t rows)>;

  // All of these outlive this.
  ContractionBuilder(CudaKernel& kernel, const KernelRequest& request, const Int8Contraction& asked);

  // Adds all that comes before the epilogue, chunk by chunk of the rows of a. False where `multiply` fails.
  bool multiply(const Factors& factors, const std::vector<RowChunk>& chunks, const Multiply& multiply);
  // Where sums are to be written, rows of so many columns.
  Place target(int64_t columns);
  // Adds the epilogue. False, with `reason`, for what cannot follow.
  bool finish(std::string& reason);

 private:
  std::optional<Place> outside() const;
  Place right(const Rows& b, int64_t columns);
  Place right_sums(const Rows& b, const Place& rows);
  Place int8_of_rows(const Int8Rows& rows, int64_t count);
  Place sums_of_rows(const Int8Rows& rows);
  ElementType element_of(const Rows& factor, const Int8Operand& operand) const;

  CudaKernel& kernel_;
  const KernelRequest& request_;
  const Int8Contraction& asked_;
  Int8Sums sums_;
  bool to_output_;  // sums are the result
};

}  // namespace vernier::cuda
