// Expand and Tile.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr size_t kMaxRank = StridedCopy::kMaxAxes / 2;

// An axis of the output is a tile index around an index inside the input's axis.
std::unique_ptr<Kernel> make_expand_tile(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  if (!is_movable(request) || y.dims.size() > kMaxRank) {
    reason = "strings, or too many axes";
    return nullptr;
  }
  auto kernel = std::make_unique<CopyKernel>(request.node.op == "Tile" ? "tile" : "expand");
  const auto from = byte_steps(x), to = byte_steps(y);
  const size_t added = y.dims.size() - x.dims.size();
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < y.dims.size(); ++i) {
    const int64_t size = i < added ? 1 : x.dims[i - added];
    axes.push_back({size == 0 ? 0 : y.dims[i] / size, 0, to[i] * size});
    axes.push_back({size, i < added ? 0 : from[i - added], to[i]});
  }
  kernel->add(0, 0, StridedCopy(element_size(x.element), std::move(axes), 0, 0));
  return kernel;
}

}  // namespace

void register_expand_tile(KernelRegistry& registry) {
  registry.add({"", "Expand", LayoutRule::kPlain, Priority::kOwn, make_expand_tile});
  registry.add({"", "Tile", LayoutRule::kPlain, Priority::kOwn, make_expand_tile});
}

}  // namespace vernier::cpu
