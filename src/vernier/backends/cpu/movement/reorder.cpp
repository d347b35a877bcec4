#include "vernier/backends/cpu/movement/reorder.h"

#include "vernier/backends/cpu/movement/copy_kernel.h"

namespace vernier::cpu {

std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to) {
  Operand target = from;
  target.layout = to;
  auto kernel =
      std::make_unique<CopyKernel>(fmt::format("reorder:{}-{}", layout_name(from.layout), layout_name(to)));
  const BoxPlace origin = from_origin(from.dims.size());
  kernel->add(0, from, origin, 0, target, origin, from.dims);
  kernel->clear_tail(0, target);
  return kernel;
}

}  // namespace vernier::cpu
