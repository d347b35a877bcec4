// The elements behind each result of a reduction, as runs: axes that lie behind each other in memory are one.
#pragma once

#include "vernier/exec/backend.h"
#include "vernier/tensor/layout.h"

namespace vernier::cpu {

struct ReductionWalk {
  struct Axis {
    int64_t size, stride;
  };
  // The innermost axis, and the reduced one around it where that is kept. Runs have `columns` results side by
  // side, of `rows` elements, `stride` apart; columns is 1 where the innermost axis is reduced, whose
  // elements then lie side by side.
  int64_t columns = 1, rows = 1, stride = 1;
  std::vector<Axis> kept, reduced;  // the other axes, outermost first

  // `reduced_axes` tells which axes of `dims` go.
  static ReductionWalk of(const Dims& dims, const std::vector<bool>& reduced_axes);

  bool is_row() const { return columns == 1 && stride == 1; }
  static int64_t count(const std::vector<Axis>& axes);
  int64_t runs() const { return count(kept); }         // of `columns` results each
  int64_t parts() const { return count(reduced); }     // runs of one result
  int64_t elements() const { return rows * parts(); }  // behind a result
  static int64_t offset(const std::vector<Axis>& axes, int64_t index);
};

// Reductions of integers, BOOL and doubles, in 64 bits, as the reference does them.

// Nothing, with `reason`, for operators that need functions of reals for integers.
std::unique_ptr<Kernel> make_wide_reduce(const KernelRequest& request, ReductionWalk walk,
                                         std::string& reason);

}  // namespace vernier::cpu
