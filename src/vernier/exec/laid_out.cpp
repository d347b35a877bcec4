#include "vernier/exec/laid_out.h"

#include "vernier/exec/device/lone_run.h"
#include "vernier/exec/scratch.h"

namespace vernier {

Tensor laid_out(const Backend& kernels, const Tensor& tensor, const Operand& from, Layout to) {
  if (from.layout == to) return tensor;
  Operand target = from;
  target.layout = to;
  Tensor result(from.element, target.memory_dims());
  const auto kernel = kernels.reorder(from, to);
  if (Device& device = kernels.device(); !device.host_visible()) {
    LoneRun(device, {&tensor, 1}, {&result, 1}).run(*kernel, {&result, 1});
    return to == Layout::kPlain ? result.reshaped(from.dims) : result;
  }
  Scratch scratch;
  const void* source = tensor.raw();
  void* at = result.mutable_raw();
  kernel->run({&source, &at, scratch.at_least(kernel->scratch_bytes)});
  return to == Layout::kPlain ? result.reshaped(from.dims) : result;
}

}  // namespace vernier
