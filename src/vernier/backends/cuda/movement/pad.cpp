// Pad in all its modes.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"

namespace vernier::cuda {

namespace {

using ops::Pads;

std::optional<Pads<int64_t>> pads_of(const KernelRequest& request) {
  const Node& node = request.node;
  const size_t rank = request.in(0).dims.size();
  if (!ops::pads_are_inputs(node))
    return ops::pads_by_axis<int64_t>(rank, ops::attribute_pads(node), std::nullopt);
  if (!request.has(1) || request.in(1).constant == nullptr) return std::nullopt;
  std::optional<std::vector<int64_t>> axes;
  if (request.has(3)) {
    if (request.in(3).constant == nullptr) return std::nullopt;
    axes = request.in(3).constant->to_ints();
  }
  return ops::pads_by_axis<int64_t>(rank, request.in(1).constant->to_ints(), axes);
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const auto pads = pads_of(request);
  const Operand &x = request.in(0), &y = request.out();
  if (!pads || x.dims.size() > kMaxRank) {
    reason = "the pads are known only when it runs, or there are too many axes";
    return nullptr;
  }
  const std::string mode = ops::pad_mode(request.node);
  PadParameters parameters{};
  parameters.count = y.size();
  const auto steps = element_steps(x);
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const ops::PadWindow window = ops::pad_window(x.dims[i], pads->before[i], pads->after[i]);
    if (mode != "constant" && window.length <= 0) {
      reason = "an axis has nothing to pad with";
      return nullptr;
    }
    parameters.sizes[i] = y.dims[i];
    parameters.steps[i] = steps[i];
    parameters.to[i] = window.to;
    parameters.from[i] = window.from;
    parameters.length[i] = window.length;
  }
  static const std::map<std::string, const char*> modes = {
      {"constant", "CONSTANT"}, {"reflect", "REFLECT"}, {"edge", "EDGE"}, {"wrap", "WRAP"}};
  const auto rule = modes.find(mode);
  if (rule == modes.end()) {
    reason = fmt::format("no mode '{}'", mode);
    return nullptr;
  }
  auto kernel = std::make_unique<CudaKernel>(request, "pad");
  const Definitions definitions = {{"T", std::string(storage_type(element_size(x.element)))},
                                   {"RANK", std::to_string(x.dims.size())},
                                   {"MODE", rule->second}};
  kernel->launch(kernel_source("pad", definitions), grid_over(parameters.count), parameters,
                 {{&PadParameters::x, CudaKernel::input(0)}}, {{&PadParameters::y, CudaKernel::output()}});
  const bool has_value = ops::pads_are_inputs(request.node) ? request.has(2) : true;
  if (mode != "constant" || !has_value) return kernel;
  if (ops::pads_are_inputs(request.node)) {
    kernel->add_pointer(offsetof(PadParameters, value), CudaKernel::input(2));
  } else {
    const double value = ops::real_attribute(request.node, "value");
    const Tensor one = Tensor::from_doubles(y.element, {1}, std::vector<double>{value});
    const auto bytes = one.bytes();
    kernel->add_pointer(offsetof(PadParameters, value),
                        kernel->constant(std::vector<std::byte>(bytes.begin(), bytes.end())));
  }
  return kernel;
}

}  // namespace

void register_pad(KernelRegistry& registry) {
  registry.add("", "Pad", make);
  registry.add("com.microsoft", "Pad", make);
}

}  // namespace vernier::cuda
