// Convolutions of int8: groups of DequantizeLinear, Conv and QuantizeLinear, and QLinearConv.
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/convolution.h"
#include "vernier/backends/cpu/onednn/post_ops.h"
#include "vernier/backends/cpu/onednn/requantization.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

bool has_pads(const Geometry& geometry) {
  const auto adds = [](int64_t pad) { return pad > 0; };
  return std::any_of(geometry.pads_begin.begin(), geometry.pads_begin.end(), adds) ||
         std::any_of(geometry.pads_end.begin(), geometry.pads_end.end(), adds);
}

// Adds up the weights of each output channel.
std::vector<double> sums_of(const Tensor& weights) {
  const auto channels = static_cast<size_t>(weights.dims()[0]);
  const auto* values = static_cast<const int8_t*>(weights.raw());
  const size_t count = channels == 0 ? 0 : static_cast<size_t>(weights.size()) / channels;
  std::vector<double> sums(channels);
  for (size_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum += values[c * count + i];
    sums[c] = static_cast<double>(sum);
  }
  return sums;
}

bool is_served_quantized_convolution(const KernelRequest& request, const QuantizedProduct& product) {
  const Operand &x = request.in(product.a), &w = request.in(product.b), &y = request.out();
  return x.rank() >= 3 && x.rank() <= 5 && w.constant != nullptr && y.size() > 0 && x.size() > 0 &&
         (is_8bit(y.element) || y.element == ElementType::kFloat) && accumulates_int8_exactly();
}

std::unique_ptr<Kernel> make_quantized_convolution(const KernelRequest& request, std::string& reason) {
  const auto product = parse_quantized(request, reason);
  if (!product) return nullptr;
  reason = "oneDNN convolves int8 by known symmetric weights, where it has VNNI";
  if (!is_served_quantized_convolution(request, *product)) return nullptr;
  const Operand &x = request.in(product->a), &w = request.in(product->b), &y = request.out();
  const auto weights = signed_weights(*w.constant, product->b_zero_points);
  if (!weights || weights->zero_point != 0) return nullptr;
  const auto convolution = ops::Convolution::of(*product->anchor, x.dims, w.dims);
  const Geometry geometry = geometry_of(convolution.axes);
  auto epilogue = make_requantization(*product, request, 1, reason);
  if (!epilogue) return nullptr;
  // Without pads the zero point moves each channel's sums by a constant; a padded element is the zero point.
  double zero_point = product->a_affine.zero_point;
  const auto sums = sums_of(weights->content);
  auto bias = has_pads(geometry) ? std::nullopt : bias_of_sums(*product, zero_point, sums);
  if (bias)
    zero_point = 0;
  else
    bias = bias_of_sums(*product, 0, sums);
  set_zero_point(*epilogue, DNNL_ARG_SRC, zero_point);
  const int threads = threads_for(ops::convolution_flops(w.dims, y.dims));
  const ThreadLimit scope(threads);
  constexpr auto kByte = dnnl::memory::data_type::s8;
  const Dims dims = weight_dims(w.dims, convolution.groups);
  const auto bias_md = plain(dnnl::memory::data_type::f32, {y.dims[1]});
  const auto pd = describe_convolution(describe(x), any(kByte, dims), bias_md, describe(y), geometry,
                                       epilogue->attributes);
  // oneDNN 2.6 describes some grouped convolutions of one pixel that it then cannot
  // make_quantized_convolution: throws dnnl::error.
  if (convolution.groups > 1 && std::string_view(pd.impl_info_str()).starts_with("jit_int8_1x1"))
    static_cast<void>(dnnl::primitive(pd.get()));
  // The nodes of a group are faster as floats; a node alone may do better in plain memory.
  if (is_last_resort(pd.impl_info_str()) && (ops::is_group(request.node) || x.layout != Layout::kPlain)) {
    reason = "oneDNN has no better than its reference for this convolution of int8";
    return nullptr;
  }
  if (may_sum_weights_wrongly(pd.impl_info_str(), convolution, zero_point != 0)) {
    reason = "oneDNN may keep wrong sums of these weights";
    return nullptr;
  }
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, describe(x), static_cast<int>(product->a), -1, std::nullopt},
      {DNNL_ARG_DST, describe(y), -1, 0, std::nullopt},
      {DNNL_ARG_WEIGHTS, pd.weights_desc(), -1, -1,
       pack(request, weights->content, plain(kByte, dims), pd.weights_desc())},
      {DNNL_ARG_BIAS, bias_md, -1, -1, own_floats(*bias, bias_md)}};
  arguments.insert(arguments.end(), epilogue->arguments.begin(), epilogue->arguments.end());
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kFloat, ElementType::kInt32, y.element, NumericsContract::Order::kBlocked};
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->in_place = kernel->accumulate_into = epilogue->sum_input;
  kernel->accumulate_bytes = describe(y).get_size();
  return kernel;
}

}  // namespace

void register_quantized_convolution(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qconv", LayoutRule::kImage, Priority::kLibrary,
                unless_refused<make_quantized_convolution>});
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "QLinearConv", LayoutRule::kImage, Priority::kLibrary,
                  unless_refused<make_quantized_convolution>});
}

}  // namespace vernier::cpu
