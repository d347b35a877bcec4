// Conv, alone or with an epilogue.
#include "vernier/backends/cpu/onednn/convolution.h"

#include <numeric>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/exact_post_ops.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/upcast.h"

namespace vernier::cpu {

Geometry geometry_of(const ops::WindowAxes& axes) {
  Geometry result;
  for (const auto& axis : axes) {
    // A stride that is never taken is left out: threads of oneDNN 2.6's bfloat16 tiles then share a buffer.
    result.strides.push_back(axis.output == 1 ? 1 : axis.stride);
    result.dilations.push_back(axis.dilation - 1);
    result.pads_begin.push_back(axis.pad_begin);
    // oneDNN computes the output's size from this.
    result.pads_end.push_back((axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 -
                              axis.input - axis.pad_begin);
  }
  return result;
}

Dims weight_dims(const Dims& weights, int64_t groups) {
  if (groups == 1) return weights;
  Dims dims{groups, weights[0] / groups};
  dims.insert(dims.end(), weights.begin() + 1, weights.end());
  return dims;
}

dnnl::convolution_forward::primitive_desc describe_convolution(const dnnl::memory::desc& x,
                                                               const dnnl::memory::desc& w,
                                                               const std::optional<dnnl::memory::desc>& bias,
                                                               const dnnl::memory::desc& y, const Geometry& g,
                                                               const dnnl::primitive_attr& attributes,
                                                               dnnl::algorithm algorithm) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::memory::desc none;
  return {dnnl_engine(), kKind,       algorithm,    x,          w,         bias.value_or(none), y,
          g.strides,     g.dilations, g.pads_begin, g.pads_end, attributes};
#else
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc =
      bias ? Desc(kKind, algorithm, x, w, *bias, y, g.strides, g.dilations, g.pads_begin, g.pads_end)
           : Desc(kKind, algorithm, x, w, y, g.strides, g.dilations, g.pads_begin, g.pads_end);
  return {desc, attributes, dnnl_engine()};
#endif
}

bool is_last_resort(std::string_view implementation) {
  return implementation.starts_with("ref");
}

bool may_sum_weights_wrongly(std::string_view implementation, const ops::Convolution& convolution,
                             bool has_zero_point) {
  const auto contains = [&](std::string_view word) {
    return implementation.find(word) != implementation.npos;
  };
  return (contains("gemm_s8s8") || (contains("gemm_s8u8") && has_zero_point)) && convolution.groups > 1 &&
         ops::tap_count(convolution.axes) == 1;
}

namespace {

// Outputs along an axis of a tile of oneDNN's Winograd.
constexpr int kDnnlWinograd = 4;

// A constant that is added to each channel right after the sums is the convolution's bias.
int take_bias(Fused& fused, const KernelRequest& request) {
  if (fused.inputs.size() > 2 && fused.inputs[2] >= 0) return fused.inputs[2];
  if (fused.post_ops.empty() || fused.post_ops[0].kind != PostOp::Kind::kAdd || fused.post_ops[0].operand < 0)
    return -1;
  const Operand& operand = request.in(static_cast<size_t>(fused.post_ops[0].operand));
  const Operand& output = request.out();
  const int64_t channels = output.dims[1];
  const int64_t axis = operand.rank() - (output.rank() - 1);
  if (operand.constant == nullptr || operand.size() != channels || axis < 0 ||
      operand.dims[static_cast<size_t>(axis)] != channels)
    return -1;
  const int bias = fused.post_ops[0].operand;
  fused.post_ops.erase(fused.post_ops.begin());
  return bias;
}

constexpr const char* kWinogradTactic = "winograd";

std::optional<dnnl::algorithm> algorithm_of(const KernelRequest& request, const Operand& x, const Operand& w,
                                            const ops::Convolution& convolution) {
  if (request.tactic.empty()) return dnnl::algorithm::convolution_direct;
  const bool floats = x.element == ElementType::kFloat && w.constant != nullptr && convolution.groups == 1;
  return request.tactic == kWinogradTactic && floats ? std::optional(dnnl::algorithm::convolution_winograd)
                                                     : std::nullopt;
}

std::vector<std::string> tactics_convolution(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  if (!fused) return {};
  const Operand &x = request.in(static_cast<size_t>(fused->inputs[0])),
                &w = request.in(static_cast<size_t>(fused->inputs[1]));
  if (x.element != ElementType::kFloat || w.constant == nullptr || x.rank() < 3) return {};
  const auto convolution = ops::Convolution::of(*fused->anchor, x.dims, w.dims);
  if (convolution.groups != 1) return {};
  constexpr int64_t kLeastChannels = 16;
  const bool square = std::all_of(convolution.axes.begin(), convolution.axes.end(), [](const auto& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
  });
  if (x.dims[1] < kLeastChannels || w.dims[0] < kLeastChannels || !square || x.rank() != 4 ||
      x.layout != Layout::kBlocked16)
    return {};
  return {kWinogradTactic};
}

// Axes with axes of one pixel before all others: oneDNN's registers hold pixels of the last axis.
std::vector<size_t> order_of(const ops::WindowAxes& axes) {
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t axis) {
    return axes[axis].input == 1 && axes[axis].output == 1 && axes[axis].kernel == 1;
  });
  return order;
}

// The same operand with its spatial axes in another order, which moves no element.
void reorder_axes(Operand& operand, const std::vector<size_t>& order) {
  constexpr size_t kChannelAxes = 2;
  const size_t rank = order.size() + kChannelAxes;
  operand.dims.insert(operand.dims.begin(), rank - std::min(rank, operand.dims.size()), 1);
  const Dims before = operand.dims;
  for (size_t i = 0; i < order.size(); ++i) operand.dims[kChannelAxes + i] = before[kChannelAxes + order[i]];
}

void reorder_axes(KernelRequest& request, const Fused& fused, ops::WindowAxes& axes) {
  const auto order = order_of(axes);
  if (std::is_sorted(order.begin(), order.end())) return;
  const int bias = fused.inputs.size() > 2 ? fused.inputs[2] : -1;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has(i) && static_cast<int>(i) != bias) reorder_axes(*request.inputs[i], order);
  }
  reorder_axes(*request.outputs[0], order);
  const ops::WindowAxes before = axes;
  for (size_t i = 0; i < order.size(); ++i) axes[i] = before[order[i]];
}

// How a convolution is computed; post-ops aside.
struct ConvolutionPlan {
  const KernelRequest& request;
  const ops::Convolution& convolution;
  dnnl::algorithm algorithm;
  int bias;
};

// Whether an operand of the output's sizes follows.
bool has_whole_operand(const KernelRequest& request, const Fused& fused) {
  return std::any_of(fused.post_ops.begin(), fused.post_ops.end(), [&](const PostOp& post) {
    return post.operand >= 0 && request.in(static_cast<size_t>(post.operand)).dims == request.out().dims;
  });
}

// oneDNN 2.6 reads a whole bfloat16 operand in other places than where it lies, after convolutions of one
// pixel of an odd number of channels.
bool misplaces_operand(const KernelRequest& request, const Operand& x, const Fused& fused) {
  return x.element == ElementType::kBFloat16 && x.dims[1] % 2 != 0 && has_whole_operand(request, fused);
}

// The same is true of its convolutions by products of matrices, group by group, whose rows are all channels.
bool misplaces_by_groups(std::string_view implementation, int64_t groups, const KernelRequest& request,
                         const Fused& fused) {
  return groups > 1 && implementation.find("gemm") != std::string_view::npos &&
         has_whole_operand(request, fused);
}

std::unique_ptr<DnnlKernel> make_fused(const ConvolutionPlan& plan, const Fused& fused, std::string& reason) {
  const auto& [request, convolution, algorithm, bias] = plan;
  const auto &x = request.in(static_cast<size_t>(fused.inputs[0])),
             &w = request.in(static_cast<size_t>(fused.inputs[1])), &y = request.out();
  const auto type = dnnl_type(x.element);
  if (misplaces_operand(request, x, fused)) {
    reason = "oneDNN misplaces an operand of what follows bfloat16 of an odd number of channels";
    return nullptr;
  }
  auto epilogue = make_epilogue(fused, request, reason);
  if (!epilogue) return nullptr;
  const int threads = threads_for(ops::convolution_flops(w.dims, y.dims));
  const ThreadLimit scope(threads);
  const Dims weights = weight_dims(w.dims, convolution.groups);
  const auto w_plain = plain(*type, weights), x_md = describe(x);
  std::optional<dnnl::memory::desc> bias_md;
  if (bias >= 0) bias_md = plain(*dnnl_type(request.in(static_cast<size_t>(bias)).element), {y.dims[1]});
  const auto w_wanted = w.constant != nullptr ? any(*type, weights) : w_plain;
  const auto pd = describe_convolution(x_md, w_wanted, bias_md, describe(y), geometry_of(convolution.axes),
                                       epilogue->attributes, algorithm);
  if (is_last_resort(pd.impl_info_str()) && (x.layout != Layout::kPlain || fused.anchor != &request.node)) {
    reason = "oneDNN has no better than its reference for this layout and epilogue";
    return nullptr;  // plain, and alone, there may be better
  }
  if (misplaces_by_groups(pd.impl_info_str(), convolution.groups, request, fused)) {
    reason = "oneDNN misplaces an operand of what follows groups that are multiplied one by one";
    return nullptr;
  }
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, x_md, fused.inputs[0], -1, std::nullopt},
                                     {DNNL_ARG_DST, describe(y), -1, 0, std::nullopt}};
  arguments.push_back(weights_argument(request, fused.inputs[1], w_plain, pd.weights_desc()));
  if (bias_md) arguments.push_back({DNNL_ARG_BIAS, *bias_md, bias, -1, std::nullopt});
  arguments.insert(arguments.end(), epilogue->arguments.begin(), epilogue->arguments.end());
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kFloat, ElementType::kFloat, y.element, NumericsContract::Order::kBlocked};
  if (algorithm == dnnl::algorithm::convolution_winograd) kernel->contract.winograd = kDnnlWinograd;
  kernel->in_place = kernel->accumulate_into = epilogue->sum_input;
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->accumulate_bytes = describe(y).get_size();
  return kernel;
}

std::unique_ptr<Kernel> make_alone(const KernelRequest& given, std::string& reason) {
  KernelRequest request = given;
  auto fused = parse_fused(request, reason);
  if (!fused) return nullptr;
  const auto x_index = static_cast<size_t>(fused->inputs[0]), w_index = static_cast<size_t>(fused->inputs[1]);
  const Operand &x = request.in(x_index), &w = request.in(w_index), &y = request.out();
  const bool floats = x.element == ElementType::kFloat || x.element == ElementType::kBFloat16;
  if (!floats || x_index == w_index || w.element != x.element ||
      (y.element != x.element && y.element != ElementType::kFloat) || x.rank() < 3 || x.rank() > 5 ||
      y.size() == 0) {
    reason = fmt::format("no convolution of {} {} in oneDNN", element_type_short_name(x.element),
                         dims_text(x.dims));
    return nullptr;
  }
  auto convolution = ops::Convolution::of(*fused->anchor, x.dims, w.dims);
  reorder_axes(request, *fused, convolution.axes);
  const auto algorithm = algorithm_of(request, x, w, convolution);
  if (!algorithm) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const ConvolutionPlan plan{request, convolution, *algorithm, take_bias(*fused, request)};
  constexpr size_t kChannelAxis = 1;
  const size_t columns_axis = y.layout == Layout::kChannelsLast ? kChannelAxis : y.dims.size() - 1;
  return with_exact_post_ops(
      *fused, request, columns_axis,
      [&](const Fused& part, std::string& why) { return make_fused(plan, part, why); }, reason);
}

// Whether oneDNN multiplies channels of a pixel by those of another one, see where_finite().
bool reads_other_pixels(const Kernel& kernel, const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  if (!fused) return false;
  const Operand &x = request.in(static_cast<size_t>(fused->inputs[0])),
                &w = request.in(static_cast<size_t>(fused->inputs[1]));
  if (x.element != ElementType::kBFloat16) return false;
  constexpr int64_t kTileChannels = 32;  // of a row of a tile
  const bool fills_tiles = kernel.name.find("amx") != std::string::npos && w.dims[1] % kTileChannels != 0;
  return fills_tiles || (x.dims[1] % 2 != 0 && w.dims[1] == x.dims[1]);
}

std::unique_ptr<Kernel> make_convolution(const KernelRequest& request, std::string& reason) {
  auto kernel = make_alone(request, reason);
  if (!kernel || !reads_other_pixels(*kernel, request)) return kernel;
  KernelRequest own = request;  // the weights that are hardly ever needed are no part of the engine
  own.packed = nullptr;
  auto exact = make_upcast(own, reason, make_alone);
  const int x = parse_fused(request, reason)->inputs[0];
  return exact ? where_finite(std::move(kernel), std::move(exact), request, x) : nullptr;
}

}  // namespace

void register_convolution(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, Priority::kLibrary, unless_refused<make_convolution>,
                tactics_convolution});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, Priority::kLibrary,
                unless_refused<make_convolution>, tactics_convolution});
}

}  // namespace vernier::cpu
