// Normalisation of images: InstanceNormalization, GroupNormalization, BatchNormalization with given
// statistics.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;
using P = NormalizeParameters;

bool is_real(ElementType type) {
  return is_float(type) && !device_type(type).empty();
}

Kernels make_groups(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const bool instance = request.node.op == "InstanceNormalization";
  const int64_t channels = x.rank() >= 2 ? x.dims[1] : 0;
  const int64_t groups = instance ? channels : ops::integer_attribute(request.node, "num_groups");
  if (groups < 1 || channels % groups != 0) {
    reason = fmt::format("{} channels in {} groups", channels, groups);
    return nullptr;
  }
  const int64_t inner = ops::product(x.dims, 2, x.dims.size());
  P parameters{};
  parameters.length = channels / groups * inner;
  parameters.groups = x.dims[0] * groups;
  parameters.channels = instance || request.node.version >= 21 ? channels : groups;
  parameters.parameter_size = inner * channels / parameters.channels;
  parameters.epsilon = static_cast<double>(ops::real_attribute(request.node, "epsilon"));
  const Operand &scale = request.in(1), &bias = request.in(2);
  const bool serves = is_real(x.element) && request.out().element == x.element && x.size() > 0 &&
                      is_real(scale.element) && bias.element == scale.element &&
                      scale.size() == parameters.channels && bias.size() == parameters.channels;
  if (!serves) {
    reason = fmt::format("no normalisation of {} {} with such a scale", element_type_short_name(x.element),
                         dims_text(x.dims));
    return nullptr;
  }
  const ElementType computed = pointwise::register_type(x.element);
  auto kernel = std::make_unique<CudaKernel>(request, "normalize");
  kernel->contract = blocked_contract(computed, x.element);
  kernel->contract.accumulated = ElementType::kDouble;
  kernel->launch(
      kernel_source("normalize", {{"T", std::string(device_type(x.element))},
                                  {"PARAMETER", std::string(device_type(scale.element))},
                                  {"ACC", std::string(device_type(computed))}}),
      grid_of_blocks(parameters.groups, parameters.length), parameters,
      {{&P::x, CudaKernel::input(0)}, {&P::scale, CudaKernel::input(1)}, {&P::bias, CudaKernel::input(2)}},
      {{&P::y, CudaKernel::output()}});
  return kernel;
}

Kernels make_batch(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const Operand& x = request.in(0);
  const bool spatial = node.version >= 9 || ops::integer_attribute(node, "spatial") != 0;
  bool serves = ops::integer_attribute(node, "training_mode") == 0 && node.outputs.size() == 1 && spatial &&
                x.rank() >= 2 && is_real(x.element);
  for (const size_t input : {1, 2, 3, 4})
    serves = serves && request.in(input).size() == x.dims[1] && is_real(request.in(input).element);
  serves = serves && request.in(1).element == request.in(2).element &&
           request.in(3).element == request.in(4).element;
  if (!serves) {
    reason = "only BatchNormalization with given statistics of channels";
    return nullptr;
  }
  ChannelParameters parameters{};
  parameters.count = x.size();
  parameters.channels = x.dims[1];
  parameters.inner = ops::product(x.dims, 2, x.dims.size());
  parameters.epsilon = static_cast<double>(ops::real_attribute(node, "epsilon"));
  const ElementType computed = pointwise::register_type(x.element);
  auto kernel = std::make_unique<CudaKernel>(request, "batch-norm");
  kernel->contract = {computed, ElementType::kUndefined, x.element};
  using C = ChannelParameters;
  kernel->launch(kernel_source("batch_norm", {{"T", std::string(device_type(x.element))},
                                              {"ACC", std::string(device_type(computed))},
                                              {"S", std::string(device_type(request.in(1).element))},
                                              {"M", std::string(device_type(request.in(3).element))}}),
                 grid_over(parameters.count), parameters,
                 {{&C::x, CudaKernel::input(0)},
                  {&C::scale, CudaKernel::input(1)},
                  {&C::bias, CudaKernel::input(2)},
                  {&C::mean, CudaKernel::input(3)},
                  {&C::variance, CudaKernel::input(4)}},
                 {{&C::y, CudaKernel::output()}});
  return kernel;
}

}  // namespace

void register_normalize(KernelRegistry& registry) {
  registry.add("", "InstanceNormalization", make_groups);
  registry.add("", "GroupNormalization", make_groups);
  registry.add("", "BatchNormalization", make_batch);
}

}  // namespace vernier::cuda
