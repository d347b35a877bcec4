#include "vernier/backends/cuda/quantization/int8_table.h"

#include <numeric>

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/evaluate.h"

namespace vernier::cuda {

namespace {

// Every value once, in the order of its bits.
Tensor all_values(ElementType type) {
  constexpr int64_t kValues = 256;
  Tensor values(type, {kValues});
  auto* bytes = static_cast<uint8_t*>(values.mutable_raw());
  std::iota(bytes, bytes + kValues, uint8_t{0});
  return values;
}

bool is_served(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  bool known = x.constant == nullptr;
  for (size_t i = 1; i < request.inputs.size(); ++i)
    known = known && (!request.has(i) || request.in(i).constant != nullptr);
  if (known && is_8bit(x.element) && is_8bit(y.element) && x.layout == y.layout && x.dims == y.dims)
    return true;
  reason = "tables are of one operand of 8 bits that is not known, and of results that lie as it does";
  return false;
}

}  // namespace

std::unique_ptr<CudaKernel> make_int8_table(const KernelRequest& request, std::string& reason) {
  if (!is_served(request, reason)) return nullptr;
  const Tensor values = all_values(request.in(0).element);
  std::vector<const Tensor*> inputs{&values};
  for (size_t i = 1; i < request.inputs.size(); ++i)
    inputs.push_back(request.has(i) ? request.in(i).constant : nullptr);
  const Tensor table = ops::evaluate(request.node, inputs).at(0).as_tensor();
  using P = Int8TableParameters;
  constexpr int64_t kWidth = 16;
  P parameters{};
  parameters.count = request.in(0).size();
  auto kernel = std::make_unique<CudaKernel>(request, "int8-table");
  kernel->contract = {ElementType::kDouble, ElementType::kUndefined, request.out().element};
  const auto bytes = table.bytes();
  const auto place = kernel->constant(std::vector<std::byte>(bytes.begin(), bytes.end()));
  kernel->launch(kernel_source("int8_table", {}), grid_over((parameters.count + kWidth - 1) / kWidth),
                 parameters, {{&P::x, CudaKernel::input(0)}, {&P::table, place}},
                 {{&P::y, CudaKernel::output()}});
  return kernel;
}

}  // namespace vernier::cuda
