// Convolutions of int8, whose windows are read from lines of the image that are laid out once: windows
// overlap, and gathering each as a row lays a pixel out again for every tap.
#pragma once

#include <memory>
#include <span>

#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/int8_gemm/quad_block.h"

namespace vernier::cpu {

// How lines of an image of int8 are laid out, and the windows in them multiplied (pair_lines.h).

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

// Whether the lines that some windows read can be kept, and are worth it. A segment of a row is then what the
// window has of a line.
bool suits_lines(const PairWindows& windows);

// For windows that suit, and weights of as many segments as the windows have lines. Products of pairs of
// int16 (pair_block.h).
std::unique_ptr<Kernel> make_pair_lines(const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order, std::shared_ptr<const PackedForm> weights,
                                        std::unique_ptr<const BlockEpilogue> epilogue);

// Products of int8 four by four (quad_block.h). Nothing, with `reason`, for weights that do not suit, and
// inputs whose zero point is not known.
std::unique_ptr<Kernel> make_quad_lines(const KernelRequest& request, const Tensor& weights,
                                        const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order,
                                        std::unique_ptr<const BlockEpilogue> epilogue, std::string& reason);

}  // namespace vernier::cpu
