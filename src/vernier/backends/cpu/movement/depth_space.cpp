// DepthToSpace and SpaceToDepth.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

namespace {

// The image with blocks as axes of their own: batch, depth, block row, block column, row, column.
std::unique_ptr<Kernel> make_depth_space(const KernelRequest& request, std::string& reason) {
  const bool to_space = request.node.op == "DepthToSpace";
  const Operand &x = request.in(0), &y = request.out();
  const Operand &deep = to_space ? x : y, &wide = to_space ? y : x;
  if (!is_movable(request) || x.layout == Layout::kBlocked16 || y.layout == Layout::kBlocked16) {
    reason = "strings and blocked tensors are not served";
    return nullptr;
  }
  const auto block = ops::integer_attribute(request.node, "blocksize");
  const bool depth_outer = ops::text_attribute(request.node, "mode") == "CRD";
  const int64_t depth = wide.dims[1];
  const auto in_deep = byte_steps(deep), in_wide = byte_steps(wide);
  const int64_t depth_step = in_deep[1] * (depth_outer ? block * block : 1),
                block_step = in_deep[1] * (depth_outer ? 1 : depth);
  std::vector<CopyAxis> axes{
      {deep.dims[0], in_deep[0], in_wide[0]},         {depth, depth_step, in_wide[1]},
      {block, block_step * block, in_wide[2]},        {block, block_step, in_wide[3]},
      {deep.dims[2], in_deep[2], in_wide[2] * block}, {deep.dims[3], in_deep[3], in_wide[3] * block}};
  if (!to_space) {
    for (CopyAxis& axis : axes) std::swap(axis.from, axis.to);
  }
  auto kernel = std::make_unique<CopyKernel>(to_space ? "depth-to-space" : "space-to-depth");
  kernel->add(0, 0, StridedCopy(element_size(x.element), std::move(axes), 0, 0));
  return kernel;
}

}  // namespace

void register_depth_space(KernelRegistry& registry) {
  registry.add({"", "DepthToSpace", LayoutRule::kFollow, Priority::kOwn, make_depth_space});
  registry.add({"", "SpaceToDepth", LayoutRule::kFollow, Priority::kOwn, make_depth_space});
}

}  // namespace vernier::cpu
