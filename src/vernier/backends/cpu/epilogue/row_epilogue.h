// The epilogue of a float contraction: post-ops in their order, computed in float, then one rounding to the
// output's type.
#pragma once

#include "vernier/backends/cpu/epilogue/activation_epilogue.h"
#include "vernier/backends/cpu/epilogue/row_post_ops.h"

namespace vernier::cpu {

class RowEpilogue {
 public:
  // Accumulators whose first element belongs at (row, column) of the output. They may lie in the output
  // itself, if it is of floats.
  struct Block {
    float* sums;  // are changed
    int64_t stride, row, column, rows, columns;
  };

  // Outputs and residuals are matrices in row-major order, with as many columns as axis `columns_axis` of the
  // output has elements. Returns nothing, with `reason`, if an operand lies otherwise or is not of floats.
  static std::optional<RowEpilogue> of(const Fused& fused, const KernelRequest& request, size_t columns_axis,
                                       std::string& reason);

  // Removes a constant bias from the front of the post-ops and returns it, a float for each column, so that
  // accumulators can begin with it; returns an empty vector if there is none. `input` of the request is a
  // further bias before all post-ops; -1: there is none.
  std::vector<float> take_bias(const KernelRequest& request, int input = -1);

  // The whole epilogue as y = end(accumulators [+ residual]), where input `residual` has y's type and shape.
  struct OnePass {
    int residual = -1;
    ActivationEpilogue end;
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
  std::vector<RowPost> post_ops_;
  ElementType stored_ = ElementType::kFloat;
  int64_t columns_ = 0;
};

}  // namespace vernier::cpu
