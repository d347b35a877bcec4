// Operators that copy boxes at known sizes: Transpose, Slice, Concat, Split, Expand, Tile, DepthToSpace,
// SpaceToDepth.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/permutation.h"
#include "vernier/ops/support/movement/slice_axis.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;

// A kernel that copies one box from input 0 to output 0.
Kernels one_box(const KernelRequest& request, std::string_view what, CopyBox box, std::string& reason) {
  auto kernel = std::make_unique<CudaKernel>(request, what);
  box.width = element_size(request.in(0).element);
  if (!add_copy(*kernel, box, CudaKernel::input(0), CudaKernel::output(), reason)) return nullptr;
  return kernel;
}

Kernels make_transpose(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto perm = ops::permutation_of(request.node, x.dims.size());
  const auto from = element_steps(x), to = element_steps(y);
  CopyBox box;
  for (size_t i = 0; i < perm.size(); ++i) box.axes.push_back({y.dims[i], from[perm[i]], to[i]});
  return one_box(request, "transpose", box, reason);
}

using List = std::optional<std::vector<int64_t>>;

// The lists of a slice: of attributes before opset 10, then of inputs, which must be known.
List list_of(const KernelRequest& request, const char* attribute, size_t input) {
  if (request.node.version < 10) {
    if (request.node.find_attribute(attribute) == nullptr) return std::nullopt;
    return request.node.attribute<std::vector<int64_t>>(attribute, {});
  }
  if (!request.has(input) || request.in(input).constant == nullptr) return std::nullopt;
  return request.in(input).constant->to_ints();
}

Kernels make_slice(const KernelRequest& request, std::string& reason) {
  const List starts = list_of(request, "starts", 1), axes = list_of(request, "axes", 3),
             steps = list_of(request, "steps", 4);
  const bool from_inputs = request.node.version >= 10;
  if (!starts || (from_inputs && request.has(3) && !axes) || (from_inputs && request.has(4) && !steps)) {
    reason = "the limits of the slice are known only when it runs";
    return nullptr;
  }
  const Operand &x = request.in(0), &y = request.out();
  const auto from = element_steps(x), to = element_steps(y);
  CopyBox box;
  for (size_t i = 0; i < y.dims.size(); ++i) box.axes.push_back({y.dims[i], from[i], to[i]});
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis =
        static_cast<size_t>(ops::normalize_axis(axes ? axes->at(i) : static_cast<int64_t>(i), x.rank()));
    const int64_t step = steps ? steps->at(i) : 1;
    box.from_offset += ops::slice_start((*starts)[i], step, x.dims[axis]) * from[axis];
    box.axes[axis].from = ops::slice_step(step, x.dims[axis]) * from[axis];
  }
  return one_box(request, "slice", box, reason);
}

size_t axis_of(const Node& node, int64_t rank) {
  return static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(node, "axis"), rank));
}

Kernels make_concat(const KernelRequest& request, std::string& reason) {
  const Operand& y = request.out();
  const size_t axis = axis_of(request.node, y.rank());
  auto kernel = std::make_unique<CudaKernel>(request, "concat");
  const auto to = element_steps(y);
  CopyBox box{element_size(y.element), {}, 0, 0};
  for (size_t input = 0; input < request.inputs.size(); ++input) {
    const Operand& part = request.in(input);
    const auto from = element_steps(part);
    box.axes.clear();
    for (size_t i = 0; i < part.dims.size(); ++i) box.axes.push_back({part.dims[i], from[i], to[i]});
    const bool is_there = input == 0 && lies_behind(request, 0, 0);
    if (!is_there && !add_copy(*kernel, box, CudaKernel::input(input), CudaKernel::output(), reason))
      return nullptr;
    box.to_offset += part.dims[axis] * to[axis];
  }
  return kernel;
}

Kernels make_split(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const size_t axis = axis_of(request.node, x.rank());
  auto kernel = std::make_unique<CudaKernel>(request, "split");
  const auto from = element_steps(x);
  CopyBox box{element_size(x.element), {}, 0, 0};
  for (size_t output = 0; output < request.outputs.size(); ++output) {
    if (!request.wants(output)) {
      reason = "all parts must be wanted";
      return nullptr;
    }
    const Operand& part = request.out(output);
    const auto to = element_steps(part);
    box.axes.clear();
    for (size_t i = 0; i < part.dims.size(); ++i) box.axes.push_back({part.dims[i], from[i], to[i]});
    if (!add_copy(*kernel, box, CudaKernel::input(0), CudaKernel::output(output), reason)) return nullptr;
    box.from_offset += part.dims[axis] * from[axis];
  }
  return kernel;
}

// An axis of the output is a tile index around an index inside the input's axis.
Kernels make_expand(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto from = element_steps(x), to = element_steps(y);
  const size_t added = y.dims.size() - x.dims.size();
  CopyBox box;
  for (size_t i = 0; i < y.dims.size(); ++i) {
    const int64_t size = i < added ? 1 : x.dims[i - added];
    box.axes.push_back({y.dims[i] / size, 0, to[i] * size});
    box.axes.push_back({size, i < added ? 0 : from[i - added], to[i]});
  }
  return one_box(request, request.node.op == "Tile" ? "tile" : "expand", box, reason);
}

// The image with blocks as axes of their own: batch, depth, block row, block column, row, column.
Kernels make_depth_space(const KernelRequest& request, std::string& reason) {
  const bool to_space = request.node.op == "DepthToSpace";
  const Operand &x = request.in(0), &y = request.out();
  const Operand &deep = to_space ? x : y, &wide = to_space ? y : x;
  const auto block = ops::integer_attribute(request.node, "blocksize");
  const bool depth_outer = ops::text_attribute(request.node, "mode") == "CRD";
  const int64_t depth = wide.dims[1];
  const auto in_deep = element_steps(deep), in_wide = element_steps(wide);
  const int64_t depth_step = in_deep[1] * (depth_outer ? block * block : 1),
                block_step = in_deep[1] * (depth_outer ? 1 : depth);
  CopyBox box;
  box.axes = {{deep.dims[0], in_deep[0], in_wide[0]},         {depth, depth_step, in_wide[1]},
              {block, block_step * block, in_wide[2]},        {block, block_step, in_wide[3]},
              {deep.dims[2], in_deep[2], in_wide[2] * block}, {deep.dims[3], in_deep[3], in_wide[3] * block}};
  if (!to_space) {
    for (CopyAxis& axis : box.axes) std::swap(axis.from, axis.to);
  }
  return one_box(request, to_space ? "depth-to-space" : "space-to-depth", box, reason);
}

}  // namespace

void register_moves(KernelRegistry& registry) {
  registry.add("", "Transpose", make_transpose);
  registry.add("", "Slice", make_slice);
  registry.add("", "Concat", make_concat, lay_out_plain, lay_out_concat_caches);
  registry.add("", "Split", make_split);
  registry.add("", "Expand", make_expand);
  registry.add("", "Tile", make_expand);
  registry.add("", "DepthToSpace", make_depth_space);
  registry.add("", "SpaceToDepth", make_depth_space);
}

}  // namespace vernier::cuda
