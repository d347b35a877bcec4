// Slice: every step-th element of a range of each axis.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/ops/support/movement/slice_axis.h"

namespace vernier::cpu {

namespace {

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

std::unique_ptr<Kernel> make_slice(const KernelRequest& request, std::string& reason) {
  const List starts = list_of(request, "starts", 1), axes = list_of(request, "axes", 3),
             steps = list_of(request, "steps", 4);
  const bool from_inputs = request.node.version >= 10;
  if (!is_movable(request) || !starts || (from_inputs && request.has(3) && !axes) ||
      (from_inputs && request.has(4) && !steps)) {
    reason = "the limits of the slice are known only when it runs";
    return nullptr;
  }
  const Operand &x = request.in(0), &y = request.out();
  BoxPlace source = from_origin(x.dims.size());
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis =
        static_cast<size_t>(ops::normalize_axis(axes ? axes->at(i) : static_cast<int64_t>(i), x.rank()));
    const int64_t step = steps ? steps->at(i) : 1;
    source.start[axis] = ops::slice_start((*starts)[i], step, x.dims[axis]);
    source.step[axis] = ops::slice_step(step, x.dims[axis]);
  }
  auto kernel = std::make_unique<CopyKernel>("slice");
  kernel->add(0, x, source, 0, y, from_origin(y.dims.size()), y.dims);
  kernel->clear_tail(0, y);
  return kernel;
}

}  // namespace

void register_slice(KernelRegistry& registry) {
  registry.add({"", "Slice", LayoutRule::kFollow, Priority::kOwn, make_slice});
}

}  // namespace vernier::cpu
