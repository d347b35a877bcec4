#include "vernier/backends/cuda/contractions/depthwise.h"

#include <bit>

#include "vernier/backends/cuda/cudnn/dnn_convolution.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
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

// Weights [channels, 1, taps…] as [taps, channels]: those of the engine, or copied first.
CudaKernel::Place weights(CudaKernel& kernel, const KernelRequest& request, const DnnConvolution& asked) {
  const int64_t channels = asked.w.sizes[0], taps = element_count(asked.w.sizes) / channels;
  const size_t width = element_size(asked.element), bytes = static_cast<size_t>(channels * taps) * width;
  if (const Tensor* known = request.in(asked.w_input).constant) {
    return kernel.constant(request.pack(
        *known, "cuda:taps-first", bytes, [channels, taps, width, source = *known](std::byte* to) {
          const auto* from = static_cast<const std::byte*>(source.raw());
          for (int64_t tap = 0; tap < taps; ++tap) {
            for (int64_t channel = 0; channel < channels; ++channel, to += width)
              std::copy_n(from + (channel * taps + tap) * static_cast<int64_t>(width), width, to);
          }
        }));
  }
  kernel.scratch_bytes = bytes;
  std::string reason;
  if (!add_copy(kernel, {width, {{taps, 1, channels}, {channels, taps, 1}}}, CudaKernel::input(asked.w_input),
                CudaKernel::scratch(), reason))
    throw internal_error("two axes cannot be copied: {}", reason);
  return CudaKernel::scratch();
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
  const CudaKernel::Place w = weights(*kernel, request, *asked);
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
