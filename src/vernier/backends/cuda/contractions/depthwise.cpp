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

// As many as can be of the channels that lie in 16 bytes.
int64_t width_of(int64_t channels, ElementType element) {
  constexpr size_t kBytes = 16;
  auto width = static_cast<int64_t>(kBytes / element_size(element));
  while (channels % width != 0) width /= 2;
  return width;
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
  const int64_t width = width_of(parameters.groups, asked->element);
  auto kernel = std::make_unique<CudaKernel>(request, "depthwise");
  kernel->contract = {.computed = ElementType::kFloat,
                      .accumulated = ElementType::kFloat,
                      .stored = asked->element,
                      .order = NumericsContract::Order::kSequential};
  const auto [w, bytes] = order_weights(*kernel, request, asked->w_input, WeightOrder::kTapsFirst);
  kernel->scratch_bytes = bytes;
  kernel->launch(kernel_source("depthwise", {{"T", std::string(device_type(asked->element))},
                                             {"N", std::to_string(width)},
                                             {"CUT", asked->relu ? "1" : "0"},
                                             {"MOST", number_text(asked->most)}}),
                 grid_over(request.out().size() / width), parameters,
                 {{&P::x, CudaKernel::input(asked->x_input)}, {&P::w, w}}, {{&P::y, CudaKernel::output()}});
  if (asked->bias_input) kernel->add_pointer(offsetof(P, bias), CudaKernel::input(*asked->bias_input));
  return kernel;
}

}  // namespace vernier::cuda
