// What becomes of blocks of sums of a contraction. Outputs, and what is added to them, lie row by row, of as
// many columns as the weights have.
#pragma once

#include <variant>

#include "vernier/backends/cpu/epilogue/byte_end.h"
#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {

// Sums, floats or int32, that belong to the output from a row and a column on.
struct TileSums {
  void* sums;  // may be changed
  int64_t stride, row, column, rows, columns;
};

// The same done by the product (vector_block.h): to sums of floats in registers, that begin with `starts`, or
// to sums of bytes as soon as they are stored.
struct RegisterFinish {
  ElementType element;  // of the output
  const float* starts;  // 32
  VectorOutput output;
};
using EarlyFinish = std::variant<RegisterFinish, ByteEnd>;

class TileFinish {
 public:
  virtual ~TileFinish() = default;
  // 32 columns at most.
  virtual void finish(const KernelArguments& arguments, const TileSums& sums) const = 0;
  // What the sums of columns from this one on begin with, 32 of the type of the sums; null: 0.
  virtual const void* starts(int64_t /*column*/) const { return nullptr; }
  // Nothing where finish() does more.
  virtual std::optional<EarlyFinish> early(const KernelArguments& /*arguments*/,
                                           const TileSums& /*sums*/) const {
    return std::nullopt;
  }
  virtual bool reads(int input) const = 0;
  // The input whose memory the output may take over; -1: none.
  virtual int in_place() const = 0;
};

// What ends sums of floats, and the contract of a contraction that ends so.
struct FloatEnd {
  std::unique_ptr<const TileFinish> finish;
  NumericsContract contract;
};
// Adds input `bias` of the request, one for each column (-1: none), and does all that follows, in one pass
// where it can be. Axis `columns_axis` of the output is the columns'. Nothing, with `reason`, for what rows
// cannot be finished with.
std::optional<FloatEnd> make_float_end(const KernelRequest& request, const Fused& fused, int bias,
                                       size_t columns_axis, std::string& reason);

}  // namespace vernier::cpu
