// The typed program of a pointwise operator, or of a group, as CUDA C++.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/shared/pointwise/program.h"

namespace vernier::cuda {

// Operands of the program in the order of the parameters, and how each lies under the walk over the output.
struct PointwiseAccess {
  // As the output lies; one element; in packs along the last axis of the walk; one element along it; others.
  enum class Kind : uint8_t { kDirect, kUniform, kPacked, kRepeated, kStrided };
  size_t input = 0;  // of the request
  ElementType element = ElementType::kUndefined;
  std::vector<int64_t> steps = {};  // per axis of the walk
  Kind kind = Kind::kStrided;
};

struct EmittedPointwise {
  ProgramSource source;
  Dims walk;  // the sizes of the output, axes joined that lie so in all operands
  std::vector<PointwiseAccess> accesses;
  int width = 1;                             // elements that a thread takes at a time
  std::vector<size_t> outputs;               // that it writes
  bool approximate = false, faults = false;  // some data have no value
};

// Steps, per axis of the output, of inputs of the request that lie in larger memory than their own.
using GivenSteps = std::map<size_t, std::vector<int64_t>>;

// The program reads sizes and steps from its parameters, but which operands lie as the output does is part of
// the text. Throws pointwise::Refused for what kernels do not compute.
EmittedPointwise emit_pointwise(const KernelRequest& request, const pointwise::Program& program,
                                const GivenSteps& given = {});
// The same without a kernel: a function `elements` of N elements from `first` on, which writes all outputs
// but `returned`, whose values it gives as registers hold them.
EmittedPointwise emit_elements(const KernelRequest& request, const pointwise::Program& program,
                               size_t returned);
// Sizes and steps for the parameters of either.
PointwiseParameters parameters_of(const EmittedPointwise& emitted, const KernelRequest& request);

// The same as one more launch of a kernel, which writes its outputs; `place` says where the inputs of the
// request lie.
EmittedPointwise add_pointwise(CudaKernel& kernel, const KernelRequest& request,
                               const pointwise::Program& program,
                               const std::function<CudaKernel::Place(size_t)>& place,
                               const GivenSteps& given = {});
// Where its pointers lead, whose parameters begin `at` so many bytes of those of the last launch.
void add_operands(CudaKernel& kernel, const EmittedPointwise& emitted,
                  const std::function<CudaKernel::Place(size_t)>& place, size_t at);

}  // namespace vernier::cuda
