// Conv and ConvTranspose: strict, without the units for matrices.
#include "vernier/ops/support/nn/convolution.h"

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/window_parameters.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;
using P = ConvolutionParameters;

bool is_served(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  bool serves = is_float(x.element) && !device_type(x.element).empty() && x.rank() >= 3 && x.rank() <= 5;
  for (const auto& input : request.inputs)
    serves = serves && (!input || (input->element == x.element && input->size() > 0));
  if (!serves)
    reason = fmt::format("no convolution of {} {}", element_type_short_name(x.element), dims_text(x.dims));
  return serves;
}

Kernels launch(const KernelRequest& request, const P& parameters, bool transposed, std::string& reason) {
  constexpr int64_t kMostBlocks = 65535;
  const Operand& x = request.in(0);
  const ElementType computed = pointwise::register_type(x.element);
  auto kernel = std::make_unique<CudaKernel>(request, transposed ? "transposed-convolution" : "convolution");
  kernel->contract = {.computed = computed,
                      .accumulated = computed,
                      .stored = x.element,
                      .order = NumericsContract::Order::kSequential};
  const int64_t places = parameters.batch * element_count(Dims{parameters.output[0], parameters.output[1],
                                                               parameters.output[2]});
  // Tiles would be empty but for a few channels.
  constexpr int kFewChannels = 8;
  const bool direct = transposed || parameters.out_channels < kFewChannels;
  const int64_t tile = tile_of(parameters.out_channels, places, parameters.groups);
  Grid grid = grid_over(request.out().size());
  if (!direct) {
    const int64_t channel_tiles = tiles_of(parameters.out_channels, tile);
    if (parameters.groups > kMostBlocks || channel_tiles > kMostBlocks) {
      reason = "so many channels";
      return nullptr;
    }
    grid = {static_cast<unsigned>(tiles_of(places, tile)), static_cast<unsigned>(channel_tiles),
            static_cast<unsigned>(parameters.groups), 256};
  }
  kernel->launch(kernel_source("convolution",
                               {{"T", std::string(device_type(x.element))},
                                {"ACC", std::string(device_type(computed))},
                                {"TILE", std::to_string(tile)},
                                {"DIRECT", direct ? "1" : "0"},
                                {"TRANSPOSED", transposed ? "1" : "0"}},
                               {"joined"}),
                 grid, parameters, {{&P::x, CudaKernel::input(0)}, {&P::w, CudaKernel::input(1)}},
                 {{&P::y, CudaKernel::output()}});
  if (request.has(2)) kernel->add_pointer(offsetof(P, bias), CudaKernel::input(2));
  return kernel;
}

Kernels make_convolution(const KernelRequest& request, std::string& reason) {
  if (!is_served(request, reason)) return nullptr;
  const auto convolution = ops::Convolution::of(request.node, request.in(0).dims, request.in(1).dims);
  P parameters{};
  set_window(convolution.axes, parameters);
  parameters.batch = static_cast<int>(convolution.batch);
  parameters.groups = static_cast<int>(convolution.groups);
  parameters.in_channels = static_cast<int>(convolution.in_channels);
  parameters.out_channels = static_cast<int>(convolution.out_channels);
  return launch(request, parameters, false, reason);
}

Kernels make_transposed(const KernelRequest& request, std::string& reason) {
  if (!is_served(request, reason)) return nullptr;
  const Dims &x = request.in(0).dims, &w = request.in(1).dims;
  P parameters{};
  set_window(ops::transposed_axes(request.node, x, w), parameters);
  parameters.batch = static_cast<int>(x[0]);
  parameters.groups = static_cast<int>(ops::integer_attribute(request.node, "group"));
  parameters.in_channels = static_cast<int>(x[1] / parameters.groups);
  parameters.out_channels = static_cast<int>(w[1]);
  return launch(request, parameters, true, reason);
}

}  // namespace

void register_convolution(KernelRegistry& registry) {
  registry.add("", "Conv", make_convolution);
  registry.add("", "ConvTranspose", make_transposed);
}

}  // namespace vernier::cuda
