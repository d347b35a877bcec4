// Normalisation of rows (LayerNormalization, RMSNormalization and what com.microsoft had before them, with a
// sum in front), and of images (InstanceNormalization, GroupNormalization, BatchNormalization with given
// statistics).
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

// Where an operator has what; -1: it has none.
struct Places {
  bool centred = true;
  int scale = 1, bias = 2, skip = -1, addend = -1;  // inputs
  int mean = -1, inverse_deviation = -1, sum = -1;  // outputs
};

Places places_of(const Node& node) {
  if (node.op == "LayerNormalization") return {.mean = 1, .inverse_deviation = 2};
  if (node.op == "RMSNormalization") return {.centred = false, .bias = -1};
  if (node.op == "SimplifiedLayerNormalization")
    return {.centred = false, .bias = -1, .inverse_deviation = 1};
  if (node.domain.empty()) return {};
  const bool centred = node.op == "SkipLayerNormalization";
  return {.centred = centred,
          .scale = 2,
          .bias = centred ? 3 : -1,
          .skip = 1,
          .addend = centred ? 4 : 3,
          .mean = 1,
          .inverse_deviation = 2,
          .sum = 3};
}

bool is_real(ElementType type) {
  return is_float(type) && !device_type(type).empty();
}

// An operand that is left out, or has `size` elements of the type that all parameters share.
bool fits(const KernelRequest& request, int input, int64_t size, ElementType& parameters) {
  if (input < 0 || !request.has(static_cast<size_t>(input))) return true;
  const Operand& operand = request.in(static_cast<size_t>(input));
  if (parameters == ElementType::kUndefined) parameters = operand.element;
  return operand.size() == size && operand.element == parameters && is_real(parameters);
}

bool is_wanted(const KernelRequest& request, int output) {
  return output >= 0 && request.wants(static_cast<size_t>(output));
}

Kernels launch(const KernelRequest& request, const Places& places, P parameters, ElementType parameter,
               std::string& reason) {
  const Operand& x = request.in(0);
  bool serves = is_real(x.element) && request.wants(0) && request.out().element == x.element && x.size() > 0;
  for (const int output : {places.mean, places.inverse_deviation})
    serves = serves && (!is_wanted(request, output) ||
                        request.out(static_cast<size_t>(output)).element == ElementType::kFloat);
  if (!serves) {
    reason = fmt::format("no normalisation of {} {} with such a scale", element_type_short_name(x.element),
                         dims_text(x.dims));
    return nullptr;
  }
  const ElementType computed = pointwise::register_type(x.element);
  auto kernel = std::make_unique<CudaKernel>(request, "normalize");
  kernel->contract = blocked_contract(computed, x.element);
  kernel->contract.accumulated = ElementType::kDouble;
  parameters.epsilon = static_cast<double>(ops::real_attribute(request.node, "epsilon"));
  kernel->launch(
      kernel_source("normalize",
                    {{"T", std::string(device_type(x.element))},
                     {"PARAMETER",
                      std::string(device_type(parameter == ElementType::kUndefined ? x.element : parameter))},
                     {"ACC", std::string(device_type(computed))},
                     {"CENTRED", places.centred ? "1" : "0"},
                     {"SKIP", places.skip >= 0 ? "1" : "0"}}),
      grid_of_blocks(parameters.rows, parameters.length), parameters, {{&P::x, CudaKernel::input(0)}},
      {{&P::y, CudaKernel::output()}});
  const std::pair<size_t, int> inputs[] = {{offsetof(P, scale), places.scale},
                                           {offsetof(P, bias), places.bias},
                                           {offsetof(P, skip), places.skip},
                                           {offsetof(P, addend), places.addend}};
  for (const auto& [offset, input] : inputs) {
    if (input >= 0 && request.has(static_cast<size_t>(input)))
      kernel->add_pointer(offset, CudaKernel::input(static_cast<size_t>(input)));
  }
  const std::pair<size_t, int> outputs[] = {{offsetof(P, mean), places.mean},
                                            {offsetof(P, inverse_deviation), places.inverse_deviation},
                                            {offsetof(P, sum), places.sum}};
  for (const auto& [offset, output] : outputs) {
    if (is_wanted(request, output))
      kernel->add_pointer(offset, CudaKernel::output(static_cast<size_t>(output)));
  }
  return kernel;
}

// A skip is as large as the input, or is the same for every entry of the batch.
bool is_skip(const KernelRequest& request, int input) {
  if (input < 0) return true;
  const Operand &x = request.in(0), &skip = request.in(static_cast<size_t>(input));
  Dims once = x.dims, dims = skip.dims;
  if (!once.empty()) once.erase(once.begin());
  if (dims.size() > once.size() && dims.front() == 1) dims.erase(dims.begin());
  return skip.element == x.element && skip.size() > 0 && (skip.dims == x.dims || dims == once);
}

Kernels make_rows(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const Places places = places_of(request.node);
  const int64_t axis = places.skip >= 0
                           ? x.rank() - 1
                           : ops::normalize_axis(ops::integer_attribute(request.node, "axis"), x.rank());
  P parameters{};
  parameters.length = ops::product(x.dims, static_cast<size_t>(axis), x.dims.size());
  parameters.rows = parameters.length == 0 ? 0 : x.size() / parameters.length;
  parameters.channels = parameters.length;
  parameters.parameter_size = 1;
  ElementType parameter = ElementType::kUndefined;
  bool serves = is_skip(request, places.skip);
  for (const int input : {places.scale, places.bias, places.addend})
    serves = serves && fits(request, input, parameters.length, parameter);
  if (!serves) {
    reason = "a scale that is not one number for each element of a row";
    return nullptr;
  }
  if (places.skip >= 0) parameters.skip_size = request.in(static_cast<size_t>(places.skip)).size();
  return launch(request, places, parameters, parameter, reason);
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
  parameters.rows = x.dims[0] * groups;
  parameters.channels = instance || request.node.version >= 21 ? channels : groups;
  parameters.parameter_size = inner * channels / parameters.channels;
  ElementType parameter = ElementType::kUndefined;
  for (const int input : {1, 2}) {
    if (fits(request, input, parameters.channels, parameter)) continue;
    reason = "a scale that is not one number for each channel";
    return nullptr;
  }
  return launch(request, Places{}, parameters, parameter, reason);
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
  for (const char* op : {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"})
    registry.add("", op, make_rows);
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
    registry.add("com.microsoft", op, make_rows);
  registry.add("", "InstanceNormalization", make_groups);
  registry.add("", "GroupNormalization", make_groups);
  registry.add("", "BatchNormalization", make_batch);
}

}  // namespace vernier::cuda
