// ConvTranspose. What follows it is not fused: oneDNN computes it after the sums, element by element, slowly.
#include <algorithm>
#include <cmath>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/convolution.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

namespace {

// [C, M/g, k…] as oneDNN sees it: [M, C, k…], or [g, M/g, C/g, k…].
dnnl::memory::desc describe_weights(dnnl::memory::data_type type, const Dims& weights, int64_t groups,
                                    bool as_is) {
  Dims dims = weights;
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  const size_t in = groups > 1 ? 1 : 0;
  if (!as_is) {
    std::swap(dims[in], dims[in + 1]);
    return any(type, dims);
  }
  std::vector<int> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::swap(order[in], order[in + 1]);
  return plain(type, dims).permute_axes(order);
}

using Descriptor = dnnl::deconvolution_forward::primitive_desc;

Descriptor describe_deconvolution(const dnnl::memory::desc& x, const dnnl::memory::desc& w,
                                  const std::optional<dnnl::memory::desc>& bias, const dnnl::memory::desc& y,
                                  const Geometry& g) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::deconvolution_direct;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::memory::desc none;
  return {dnnl_engine(), kKind,       kAlgorithm,   x,          w,         bias.value_or(none), y,
          g.strides,     g.dilations, g.pads_begin, g.pads_end, attributes};
#else
  using Desc = dnnl::deconvolution_forward::desc;
  const Desc desc =
      bias ? Desc(kKind, kAlgorithm, x, w, *bias, y, g.strides, g.dilations, g.pads_begin, g.pads_end)
           : Desc(kKind, kAlgorithm, x, w, y, g.strides, g.dilations, g.pads_begin, g.pads_end);
  return {desc, attributes, dnnl_engine()};
#endif
}

// Its tiles put zeros between the pixels that a stride moves apart, and multiply them, too.
bool meets_zeros(std::string_view implementation) {
  return implementation.find("amx") != std::string_view::npos;
}

bool is_finite(const Tensor& weights) {
  const auto values = weights.to_doubles();
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

std::unique_ptr<Kernel> make_deconvolution(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &w = request.in(1), &y = request.out();
  const auto type = dnnl_type(x.element);
  const bool floats = x.element == ElementType::kFloat || x.element == ElementType::kBFloat16;
  if (!floats || x.rank() > 5 || x.size() == 0 || y.size() == 0 || w.size() == 0) {
    reason = fmt::format("no transposed convolution of {} {} in oneDNN", element_type_short_name(x.element),
                         dims_text(x.dims));
    return nullptr;
  }
  const auto groups = ops::integer_attribute(request.node, "group");
  const auto axes = ops::transposed_axes(request.node, x.dims, w.dims);
  const int64_t reached = w.size() / std::max<int64_t>(1, w.dims[0]);  // by an element of the input
  const int threads = threads_for(2 * static_cast<double>(x.size()) * static_cast<double>(reached));
  const ThreadLimit scope(threads);
  const auto w_plain = describe_weights(*type, w.dims, groups, true);
  std::optional<dnnl::memory::desc> bias;
  if (request.has(2)) bias = plain(*type, {y.dims[1]});
  const auto pd = describe_deconvolution(
      describe(x), w.constant != nullptr ? describe_weights(*type, w.dims, groups, false) : w_plain, bias,
      describe(y), geometry_of(axes));
  if (is_last_resort(pd.impl_info_str())) {
    // It takes each element by itself; Vernier's own reference multiplies matrices.
    reason = "oneDNN has no better than its reference for this transposed convolution";
    return nullptr;
  }
  if (meets_zeros(pd.impl_info_str()) && !(w.constant != nullptr && is_finite(*w.constant))) {
    reason = "oneDNN multiplies zeros by weights that may not be finite";
    return nullptr;
  }
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, describe(x), 0, -1, std::nullopt},
                                     {DNNL_ARG_DST, describe(y), -1, 0, std::nullopt}};
  if (w.constant != nullptr)
    arguments.push_back({DNNL_ARG_WEIGHTS, pd.weights_desc(), -1, -1,
                         pack(request, *w.constant, w_plain, pd.weights_desc())});
  else
    arguments.push_back({DNNL_ARG_WEIGHTS, w_plain, 1, -1, std::nullopt});
  if (bias) arguments.push_back({DNNL_ARG_BIAS, *bias, 2, -1, std::nullopt});
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kFloat, ElementType::kFloat, y.element, NumericsContract::Order::kBlocked};
  kernel->threads = threads == 1 ? 1 : 0;
  return kernel;
}

}  // namespace

void register_deconvolution(KernelRegistry& registry) {
  registry.add(
      {"", "ConvTranspose", LayoutRule::kImage, Priority::kLibrary, unless_refused<make_deconvolution>});
}

}  // namespace vernier::cpu
