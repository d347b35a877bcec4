#include "vernier/backends/cuda/pointwise/walk.h"

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

bool can_join(const std::vector<PointwiseAccess>& accesses, const Dims& walk, size_t axis) {
  return std::all_of(accesses.begin(), accesses.end(), [&](const PointwiseAccess& access) {
    return access.steps[axis] == access.steps[axis + 1] * walk[axis + 1];
  });
}

}  // namespace

Dims settle_walk(std::vector<PointwiseAccess>& accesses, const Dims& out) {
  Dims walk;
  std::vector<std::vector<int64_t>> steps(accesses.size());
  for (size_t axis = 0; axis < out.size(); ++axis) {  // axes of one element move nothing
    if (out[axis] == 1) continue;
    walk.push_back(out[axis]);
    for (size_t i = 0; i < accesses.size(); ++i) steps[i].push_back(accesses[i].steps[axis]);
  }
  for (size_t i = 0; i < accesses.size(); ++i) accesses[i].steps = steps[i];
  for (size_t axis = walk.size(); axis-- > 1;) {
    if (!can_join(accesses, walk, axis - 1)) continue;
    walk[axis - 1] *= walk[axis];
    walk.erase(walk.begin() + static_cast<std::ptrdiff_t>(axis));
    for (PointwiseAccess& access : accesses) {
      access.steps[axis - 1] = access.steps[axis];
      access.steps.erase(access.steps.begin() + static_cast<std::ptrdiff_t>(axis));
    }
  }
  const auto dense = ops::strides_of(walk);
  for (PointwiseAccess& access : accesses) {
    const bool is_uniform =
        std::all_of(access.steps.begin(), access.steps.end(), [](int64_t step) { return step == 0; });
    access.kind = is_uniform              ? PointwiseAccess::Kind::kUniform
                  : access.steps == dense ? PointwiseAccess::Kind::kDirect
                                          : PointwiseAccess::Kind::kStrided;
  }
  return walk;
}

}  // namespace vernier::cuda
