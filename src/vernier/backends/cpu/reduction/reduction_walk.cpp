#include "vernier/backends/cpu/reduction/reduction_walk.h"

namespace vernier::cpu {

ReductionWalk ReductionWalk::of(const Dims& dims, const std::vector<bool>& reduced_axes) {
  struct Merged {
    Axis axis;
    bool reduced;
  };
  std::vector<Merged> axes;  // innermost first
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
    if (dims[i] == 1) continue;
    if (!axes.empty() && axes.back().reduced == reduced_axes[i])
      axes.back().axis.size *= dims[i];
    else
      axes.push_back({{dims[i], stride}, reduced_axes[i]});
  }
  ReductionWalk walk;
  size_t next = 0;
  if (next < axes.size() && !axes[next].reduced) {
    walk.columns = walk.stride = axes[next++].axis.size;
    if (next < axes.size()) walk.rows = axes[next++].axis.size;
  } else if (next < axes.size()) {
    walk.rows = axes[next++].axis.size;
  }
  for (size_t i = axes.size(); i-- > next;)
    (axes[i].reduced ? walk.reduced : walk.kept).push_back(axes[i].axis);
  return walk;
}

int64_t ReductionWalk::count(const std::vector<Axis>& axes) {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

int64_t ReductionWalk::offset(const std::vector<Axis>& axes, int64_t index) {
  int64_t at = 0;
  for (size_t i = axes.size(); i-- > 0; index /= axes[i].size) at += index % axes[i].size * axes[i].stride;
  return at;
}

}  // namespace vernier::cpu
