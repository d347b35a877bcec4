// Concat and Split.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"

namespace vernier::cpu {

namespace {

size_t axis_of(const Node& node, int64_t rank) {
  return static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(node, "axis"), rank));
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request, std::string& reason) {
  if (!is_movable(request)) {
    reason = "strings are not moved by width";
    return nullptr;
  }
  const Operand& y = request.out();
  const size_t axis = axis_of(request.node, y.rank());
  auto kernel = std::make_unique<CopyKernel>("concat");
  BoxPlace target = from_origin(y.dims.size());
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Operand& part = request.in(i);
    kernel->add(static_cast<int>(i), part, from_origin(part.dims.size()), 0, y, target, part.dims);
    target.start[axis] += part.dims[axis];
  }
  kernel->clear_tail(0, y);
  return kernel;
}

std::unique_ptr<Kernel> make_split(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const bool all = std::all_of(request.outputs.begin(), request.outputs.end(),
                               [](const auto& output) { return output.has_value(); });
  if (!is_movable(request) || !all) {
    reason = "strings are not moved by width, and all parts must be wanted";
    return nullptr;
  }
  const size_t axis = axis_of(request.node, x.rank());
  auto kernel = std::make_unique<CopyKernel>("split");
  BoxPlace source = from_origin(x.dims.size());
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const Operand& part = request.out(i);
    kernel->add(0, x, source, static_cast<int>(i), part, from_origin(part.dims.size()), part.dims);
    kernel->clear_tail(static_cast<int>(i), part);
    source.start[axis] += part.dims[axis];
  }
  return kernel;
}

}  // namespace

void register_concat_split(KernelRegistry& registry) {
  registry.add({"", "Concat", LayoutRule::kFollow, Priority::kOwn, make_concat, nullptr, false,
                lay_out_concat_caches});
  registry.add({"", "Split", LayoutRule::kFollow, Priority::kOwn, make_split});
}

}  // namespace vernier::cpu
