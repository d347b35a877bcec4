// y[i, j, …] = x[sources[0][i], sources[1][j], …]: copies that are known when the kernel is made, but follow
// no steps.
#pragma once

#include "vernier/exec/kernel.h"
#include "vernier/tensor/tensor_type.h"

namespace vernier::cpu {

class IndexCopyKernel : public Kernel {
 public:
  // Elements of `width` bytes; `dims` are the sizes of x in memory, `sources` those of y's elements along
  // every axis.
  IndexCopyKernel(std::string_view what, size_t width, const Dims& dims,
                  std::vector<std::vector<int64_t>> sources);
  void run(const KernelArguments& arguments) const override;

 private:
  std::vector<std::vector<int64_t>> sources_;  // in bytes; the last axis is the row
  int64_t rows_ = 1;
  size_t run_;  // bytes that lie together for each element of the row
};

}  // namespace vernier::cpu
