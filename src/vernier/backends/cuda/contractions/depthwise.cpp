#include "vernier/backends/cuda/contractions/depthwise.h"

#include <bit>

#include "vernier/backends/cuda/contractions/weight_order.h"
#include "vernier/backends/cuda/cudnn/dnn_convolution.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/window_parameters.h"

namespace vernier::cuda {

namespace {

using P = ConvolutionParameters;

// How many neighbouring places a thread makes: several, for which it loads fewer images than each for itself
// would, where there are threads enough for a GPU all the same.
int64_t run_of(const P& parameters, int64_t packs) {
  constexpr int64_t kRun = 4, kEnoughThreads = int64_t{1} << 16;
  const bool shares = unrolls_taps(parameters) && parameters.dilations[2] == 1 && parameters.strides[2] <= 2 &&
                      parameters.output[2] >= kRun;
  return shares && packs / kRun >= kEnoughThreads ? kRun : 1;
}

std::string number_text(double value) {
  return fmt::format("of_bits({:#x}ull)", std::bit_cast<uint64_t>(value));
}

bool is_served(const DnnConvolution& asked) {
  const int64_t channels = asked.x.sizes[1];
  return asked.channels_last && asked.w.sizes[1] == 1 && asked.w.sizes[0] == channels && channels > 1 &&
         !asked.residual_input;
}

}  // namespace

std::unique_ptr<CudaKernel> make_depthwise(const KernelRequest& request, std::string& reason) {
  const auto asked = dnn_convolution(request, reason);
  if (!asked) return nullptr;
  if (!is_served(*asked)) {
    reason = "no convolution of single channels that lie last";
    return nullptr;
  }
  P parameters{};
  set_window(asked->axes, parameters);
  parameters.batch = static_cast<int>(asked->x.sizes[0]);
  parameters.groups = static_cast<int>(asked->x.sizes[1]);
  const int64_t width = pack_width(parameters.groups, asked->element),
                packs = request.out().size() / width, run = run_of(parameters, packs),
                runs = (parameters.output[2] + run - 1) / run,
                threads = packs / parameters.output[2] * runs;
  auto kernel = std::make_unique<CudaKernel>(request, "depthwise");
  kernel->contract = {.computed = ElementType::kFloat,
                      .accumulated = ElementType::kFloat,
                      .stored = asked->element,
                      .order = NumericsContract::Order::kSequential};
  const auto [w, bytes] = order_weights(*kernel, request, asked->w_input, WeightOrder::kTapsFirst);
  kernel->scratch_bytes = bytes;
  Definitions definitions = {{"T", std::string(device_type(asked->element))},
                             {"N", std::to_string(width)},
                             {"RUN", std::to_string(run)},
                             {"INDEX", std::string(index_type(packs))},
                             {"STRIDE", std::to_string(parameters.strides[2])},
                             {"DILATION", std::to_string(parameters.dilations[2])},
                             {"CUT", asked->relu ? "1" : "0"},
                             {"MOST", number_text(asked->most)}};
  define_taps(parameters, definitions);
  kernel->launch(kernel_source("depthwise", definitions), grid_over(threads), parameters,
                 {{&P::x, CudaKernel::input(asked->x_input)}, {&P::w, w}}, {{&P::y, CudaKernel::output()}});
  if (asked->bias_input) kernel->add_pointer(offsetof(P, bias), CudaKernel::input(*asked->bias_input));
  return kernel;
}

}  // namespace vernier::cuda
