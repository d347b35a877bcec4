// What becomes of blocks of sums of a contraction. Outputs, and what is added to them, lie row by row, of as
// many columns as the weights have.
#pragma once

#include "vernier/backends/cpu/kernels/row_epilogue.h"

namespace vernier::cpu {

// Sums, floats or int32, that belong to the output from a row and a column on.
struct TileSums {
  void* sums;  // may be changed
  int64_t stride, row, column, rows, columns;
};

class TileFinish {
 public:
  virtual ~TileFinish() = default;
  // 32 columns at most.
  virtual void finish(const KernelArguments& arguments, const TileSums& sums) const = 0;
  // What the sums of columns from this one on begin with, 32 of the type of the sums; null: 0.
  virtual const void* starts(int64_t /*column*/) const { return nullptr; }
  virtual bool reads(int input) const = 0;
  // The input whose memory the output may take over; -1: none.
  virtual int in_place() const = 0;
};

// Of floats: adds the bias, one for each of so many columns or none, and does all that follows, in one pass
// where it can be.
std::unique_ptr<const TileFinish> make_float_finish(RowEpilogue epilogue, std::vector<float> bias,
                                                    int64_t columns);

}  // namespace vernier::cpu
