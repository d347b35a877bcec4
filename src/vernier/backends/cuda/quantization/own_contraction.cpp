// Contractions of int8 by kernels of our own.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/quantization/int8_contraction.h"
#include "vernier/backends/cuda/window_parameters.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;

// Each channel of a group has a window of its own: sums are made one by one, and need no correction.
Kernels make_grouped(const KernelRequest& request, const Int8Contraction& asked, std::string& reason) {
  using P = Int8ConvolutionParameters;
  const ops::Convolution& convolution = *asked.convolution;
  const Operand &x = request.in(asked.a.values), &w = request.in(asked.b.values);
  const WindowParameters from = rows_of_windows(x, convolution).windows;
  P parameters{};
  set_window(convolution.axes, parameters);
  parameters.batch = static_cast<int>(convolution.batch);
  parameters.groups = static_cast<int>(convolution.groups);
  parameters.in_channels = static_cast<int>(convolution.in_channels);
  parameters.out_channels = static_cast<int>(convolution.out_channels);
  parameters.x_image = from.image_step;
  parameters.x_channel = from.channel_step;
  parameters.x_pixel = from.pixel_step;
  parameters.channels_last = static_cast<int>(asked.sums.layout == Layout::kChannelsLast);
  parameters.w_zero_step = asked.b.zero && !asked.b.zero_dims.empty() ? 1 : 0;
  auto kernel = std::make_unique<CudaKernel>(request, "int8-convolution");
  ContractionBuilder builder(*kernel, request, asked);
  kernel->launch(kernel_source("int8_convolution", {{"X", std::string(device_type(x.element))},
                                                    {"W", std::string(device_type(w.element))}}),
                 grid_over(asked.sums.size()), parameters,
                 {{&P::x, CudaKernel::input(asked.a.values)}, {&P::w, CudaKernel::input(asked.b.values)}},
                 {{&P::y, builder.target(asked.product.parameters.n)}});
  if (asked.a.zero) kernel->add_pointer(offsetof(P, x_zero), CudaKernel::input(*asked.a.zero));
  if (asked.b.zero) kernel->add_pointer(offsetof(P, w_zero), CudaKernel::input(*asked.b.zero));
  return builder.finish(reason) ? std::move(kernel) : nullptr;
}

Kernels make(const KernelRequest& request, std::string& reason) {
  const auto asked = int8_contraction(request, reason);
  if (!asked) return nullptr;
  if (asked->convolution && asked->convolution->groups > 1) return make_grouped(request, *asked, reason);
  const Factors factors = factors_of(request, *asked);
  auto kernel = std::make_unique<CudaKernel>(request, what_of(*asked));
  ContractionBuilder builder(*kernel, request, *asked);
  const ProductTypes types{request.in(asked->a.values).element, request.in(asked->b.values).element,
                           ElementType::kInt32, ElementType::kInt32};
  const auto multiply = [&](const CudaKernel::Place& a, const CudaKernel::Place& b,
                            const CudaKernel::Place& sums, int64_t rows) {
    const Product product = product_of(*asked, factors, rows);
    return add_product(*kernel, product, types, a, b, sums, reason);
  };
  const auto chunks = chunks_of(*asked, factors.a, kMostGathered);
  return builder.multiply(factors, chunks, multiply) && builder.finish(reason) ? std::move(kernel) : nullptr;
}

}  // namespace

bool multiplies_int8(const Node& node) {
  return KernelRegistry::instance().find(node) == make;
}

void lay_out_int8(KernelRequest& request) {
  lay_out_plain(request);
  std::string reason;
  const auto asked = int8_contraction(request, reason);
  if (!asked || !asked->convolution) return;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    auto& input = request.inputs[i];
    if (input && input->constant == nullptr && (i == asked->a.values || input->dims == request.out().dims))
      input->layout = Layout::kChannelsLast;
  }
  request.outputs[0]->layout = Layout::kChannelsLast;
}

void register_own_contraction(KernelRegistry& registry) {
  for (const char* op : {"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"})
    registry.add("", op, make, lay_out_int8);
  for (const char* op : {"QLinearConv", "QGemm", "MatMulIntegerToFloat"})
    registry.add("com.microsoft", op, make, lay_out_int8);
  for (const char* kind : {"Group/qconv", "Group/qmatmul"}) registry.add("vernier", kind, make, lay_out_int8);
}

}  // namespace vernier::cuda
