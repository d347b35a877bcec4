// The epilogue of an int8 contraction in a group: the scales of its operands, the post-ops of the group, and
// one rounding to the output's type.
#pragma once

#include "vernier/backends/cpu/epilogue/int8_epilogue.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"
#include "vernier/backends/shared/quantized.h"

namespace vernier::cpu {

// Holds the sum of each column's weights, and how many products are accumulated.
struct IntegerSums {
  std::vector<int64_t> weights;
  int64_t depth;
};

// An epilogue to int8 that is no more than a scale and an offset, one rounding, and bounds; numbers of each
// column.
struct PlainRequantization {
  const int32_t* initial;
  const float *scales, *offsets;
  ElementType type;
  int32_t zero_point, low, high;
};

class IntegerEpilogue {
 public:
  // Sums, from `initial` on, that belong to the output from a row and a column on.
  struct Block {
    const int32_t* sums;
    int64_t stride, row, column, rows, columns;  // 32 columns at most, of which 32 can be read
  };

  // Outputs, and what is added to all of them, lie row by row, of as many columns as axis `columns_axis` of
  // the output has. Nothing, with `reason`, for operands that lie otherwise or are not int8.
  //
  // As in oneDNN's (onednn/requantization.h), what a QuantizeLinear or DequantizeLinear between would round
  // in float is not rounded.
  static std::optional<IntegerEpilogue> of(const QuantizedProduct& product, const KernelRequest& request,
                                           const IntegerSums& sums, size_t columns_axis, std::string& reason);

  // Nothing if there is more to do.
  std::optional<PlainRequantization> as_plain() const;
  bool reads(int input) const;
  // The input whose memory the output may take over; -1: none.
  int in_place() const;

  // The initial accumulators of columns from this one on: 32 can be read.
  const int32_t* initial(int64_t column) const { return initial_.data() + column; }
  void finish(const KernelArguments& arguments, const Block& block) const;
  // Gives what finish() does to each row, if it is a common case.
  std::optional<Int8Epilogue> as_int8_epilogue(const KernelArguments& arguments, const Block& block) const;

 private:
  friend class IntegerChain;

  StepOperands operands_at(const KernelArguments& arguments, int64_t row, int64_t column) const;
  IntegerRows rows_of(const KernelArguments& arguments, const Block& block) const;

  std::vector<IntegerStep> steps_;
  // Each column begins with the bias, less what the zero point of the inputs adds.
  std::vector<int32_t, LineAllocator<int32_t>> initial_;
  std::vector<float, LineAllocator<float>> scales_, offsets_;
  ElementType stored_ = ElementType::kFloat;
  int64_t columns_ = 0;  // of the output
  int32_t zero_point_ = 0, low_ = 0, high_ = 0;
};

}  // namespace vernier::cpu
