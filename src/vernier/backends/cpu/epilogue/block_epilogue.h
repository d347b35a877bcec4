// The epilogue of a contraction that is computed block by block. Outputs, and residuals, are matrices in
// row-major order with as many columns as the weights have.
#pragma once

#include <variant>

#include "vernier/backends/cpu/epilogue/int8_epilogue.h"
#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {

// Accumulators of float or int32 whose first element belongs at (row, column) of the output.
struct AccumulatorBlock {
  void* sums;  // the epilogue may overwrite them
  int64_t stride, row, column, rows, columns;
};

// An epilogue that the product itself applies (vector_block.h): to float accumulators while they are in
// registers, where they begin with the bias `initial`, or to int8 accumulators as soon as they are stored.
struct RegisterEpilogue {
  ElementType element;   // of the output
  const float* initial;  // 32
  VectorOutput output;
};
using EarlyEpilogue = std::variant<RegisterEpilogue, Int8Epilogue>;

class BlockEpilogue {
 public:
  virtual ~BlockEpilogue() = default;
  // 32 columns at most.
  virtual void finish(const KernelArguments& arguments, const AccumulatorBlock& sums) const = 0;
  // The initial accumulators of 32 columns from this one on, in the accumulators' type; null stands for 0.
  virtual const void* initial(int64_t /*column*/) const { return nullptr; }
  // Returns nothing if finish() does more than an early epilogue can.
  virtual std::optional<EarlyEpilogue> early(const KernelArguments& /*arguments*/,
                                             const AccumulatorBlock& /*sums*/) const {
    return std::nullopt;
  }
  virtual bool reads(int input) const = 0;
  // The input whose memory the output may take over; -1: none.
  virtual int in_place() const = 0;
};

// The epilogue of float accumulators, and the contract of a contraction that has it.
struct FloatEpilogue {
  std::unique_ptr<const BlockEpilogue> epilogue;
  NumericsContract contract;
};
// Makes the epilogue that adds input `bias` of the request, a number for each column (-1: there is none), and
// applies the post-ops, in one pass where possible. Axis `columns_axis` of the output holds the columns.
// Returns nothing, with `reason`, if a post-op cannot be applied row by row.
std::optional<FloatEpilogue> make_float_epilogue(const KernelRequest& request, const Fused& fused, int bias,
                                                 size_t columns_axis, std::string& reason);

}  // namespace vernier::cpu
