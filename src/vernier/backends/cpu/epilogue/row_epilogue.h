// What becomes of the sums of a contraction before they are stored: post-ops in their order, in floats, then
// one rounding to the output's type.
#pragma once

#include "vernier/backends/cpu/epilogue/row_end.h"
#include "vernier/backends/cpu/epilogue/row_posts.h"

namespace vernier::cpu {

class RowEpilogue {
 public:
  // Sums that belong to the output from a row and a column on. They may be the output itself, if it is of
  // floats.
  struct Block {
    float* sums;  // are changed
    int64_t stride, row, column, rows, columns;
  };

  // Outputs, and what is added to all of them, lie row by row, of as many columns as axis `columns_axis` of
  // the output has. Nothing, with `reason`, if an operand lies in another way or is no float.
  static std::optional<RowEpilogue> of(const Fused& fused, const KernelRequest& request, size_t columns_axis,
                                       std::string& reason);

  // Takes what is added to all rows first, if its content is known: what sums may begin with, a float for
  // each column; else nothing. `input` of the request is such an addend before all post-ops; -1: there is
  // none.
  std::vector<float> take_bias(const KernelRequest& request, int input = -1);

  // y = end(sums [+ an input of y's type and shape]), if it is nothing else.
  struct OnePass {
    int residual = -1;
    RowEnd end;
  };
  std::optional<OnePass> as_one_pass() const;

  bool is_approximate() const;  // whether functions among them are accurate to a few ulp only
  bool reads(int input) const;
  bool has_columns() const;  // whether an operand has a number for each column
  // The input whose memory the output may take over; -1: none.
  int in_place() const;
  ElementType stored() const { return stored_; }
  int64_t columns() const { return columns_; }  // of the output

  void finish(const KernelArguments& arguments, const Block& block) const;

 private:
  std::vector<RowPost> posts_;
  ElementType stored_ = ElementType::kFloat;
  int64_t columns_ = 0;
};

}  // namespace vernier::cpu
