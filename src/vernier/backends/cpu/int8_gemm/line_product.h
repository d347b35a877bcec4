// How lines of an image of int8 are laid out, and the windows in them multiplied (pair_lines.h).
#pragma once

#include <memory>
#include <span>

#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/int8_gemm/quad_block.h"

namespace vernier::cpu {

// Lines that windows may read.
inline constexpr int64_t kMostSegments = 64;

// Windows of a line of the output: where what the first has of each line lies, and elements from one to the
// next.
struct LineRows {
  std::span<const std::byte* const> segments;
  int64_t stride, count;
};

class LineProduct {
 public:
  virtual ~LineProduct() = default;
  // Bytes of an element as it is laid out.
  virtual int64_t element_size() const = 0;
  // With what stands for 0 before and after it. PairLine says how much may be written.
  virtual void lay_out(const PairLine& line, const Int8Source& image, std::byte* to) const = 0;
  // Up to kPairColumns columns from `column` on, a multiple of that.
  virtual void multiply(const LineRows& rows, const std::byte* weights, int64_t column,
                        const BlockEpilogue& epilogue, int32_t* sums) const = 0;
};

// As pairs of int16 (pair_block.h).
std::unique_ptr<const LineProduct> make_pair_line_product(const PairWeights& order);
// Four by four (quad_block.h), of rows whose zero point is known.
std::unique_ptr<const LineProduct> make_quad_line_product(QuadWeights weights, const PairRows& rows,
                                                          int64_t columns, const BlockEpilogue& epilogue);

}  // namespace vernier::cpu
