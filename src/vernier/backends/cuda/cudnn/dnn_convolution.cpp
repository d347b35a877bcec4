#include "vernier/backends/cuda/cudnn/dnn_convolution.h"

#include "vernier/backends/cuda/contractions/weight_order.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/math/gemm_layout.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/tf32.h"

namespace vernier::cuda {

namespace {

// The library knows images of at least two axes: one of a single element is put in front of a single one.
DnnTensor tensor(Dims sizes, bool channels_last) {
  if (sizes.size() == 3) sizes.insert(sizes.begin() + 2, 1);
  auto steps = element_steps(sizes, channels_last ? Layout::kChannelsLast : Layout::kPlain);
  return {std::move(sizes), std::move(steps)};
}

bool is_served(const KernelRequest& request, const Fused& fused, std::string& reason) {
  const Operand &x = request.in(static_cast<size_t>(fused.inputs[0])), &y = request.out();
  bool serves = (x.element == ElementType::kFloat || x.element == ElementType::kFloat16 ||
                 x.element == ElementType::kBFloat16) &&
                x.rank() <= 5 && request.outputs.size() == 1 && y.size() > 0;
  for (const auto& input : request.inputs)
    serves = serves && (!input || (input->element == x.element && input->size() > 0));
  if (serves && y.element == x.element) return true;
  reason = fmt::format("cuDNN is not asked for convolutions of {} {}", element_type_short_name(x.element),
                       dims_text(x.dims));
  return false;
}

// Sets the post-ops, in the order in which the library takes them.
bool set_post_ops(const KernelRequest& request, const Fused& fused, DnnConvolution& asked,
                  std::string& reason) {
  for (const PostOp& post : fused.post_ops) {
    const bool adds = post.kind == PostOp::Kind::kAdd && !asked.residual_input && !asked.relu &&
                      request.in(static_cast<size_t>(post.operand)).dims == request.out().dims;
    const bool cuts = !asked.relu && ((post.kind == PostOp::Kind::kRelu && post.alpha == 0) ||
                                      (post.kind == PostOp::Kind::kClip && post.alpha == 0));
    const bool activates = !asked.relu && !asked.activation && !asked.residual_input &&
                           (post.kind == PostOp::Kind::kSwish || post.kind == PostOp::Kind::kHardSwish);
    if (activates) asked.activation = post;
    if ((!adds && !cuts && !activates) || (asked.activation && !activates)) {
      reason = "what follows the convolution is no part of its kernel";
      return false;
    }
    if (adds) asked.residual_input = static_cast<size_t>(post.operand);
    if (cuts) asked.relu = true;
    if (cuts && post.kind == PostOp::Kind::kClip) asked.most = static_cast<double>(post.beta);
  }
  return true;
}

bool lie_alike(const KernelRequest& request, const DnnConvolution& asked) {
  const Layout layout = request.out().layout;
  return (layout == Layout::kPlain || layout == Layout::kChannelsLast) &&
         (request.in(asked.x_input).layout == layout || asked.pads_channels) &&
         request.in(asked.w_input).layout == Layout::kPlain &&
         (!asked.residual_input || request.in(*asked.residual_input).layout == layout);
}

std::optional<DnnConvolution> of_convolution(const KernelRequest& request, const Fused& fused,
                                             DnnConvolution asked, std::string& reason) {
  if (!set_post_ops(request, fused, asked, reason)) return std::nullopt;
  asked.pads_channels = request.in(asked.x_input).layout == Layout::kPlain &&
                        request.out().layout == Layout::kChannelsLast && has_few_channels(request, asked);
  if (!lie_alike(request, asked)) {
    reason = "its images lie in different layouts";
    return std::nullopt;
  }
  const Operand &x = request.in(asked.x_input), &w = request.in(asked.w_input), &y = request.out();
  asked.channels_last = y.layout == Layout::kChannelsLast;
  asked.axes = ops::Convolution::of(*fused.anchor, x.dims, w.dims).axes;
  if (asked.axes.size() == 1) asked.axes.insert(asked.axes.begin(), ops::WindowAxis{});
  asked.image_channels = x.dims[1];
  Dims image = x.dims, filters = w.dims;
  if (asked.pads_channels) image[1] = filters[1] = kPaddedChannels;
  asked.x = tensor(std::move(image), asked.channels_last);
  asked.w = tensor(std::move(filters), asked.channels_last);
  asked.y = tensor(y.dims, asked.channels_last);
  std::vector<int64_t> by_channel(y.dims.size(), 1);
  by_channel[1] = y.dims[1];
  asked.bias = tensor(by_channel, asked.channels_last);
  asked.adds_zeros = !asked.bias_input && (asked.residual_input || asked.relu);
  return asked;
}

// Rows are pixels: [m, k] is an image of k channels, one pixel wide.
std::optional<DnnConvolution> of_product(const KernelRequest& request, DnnConvolution asked,
                                         std::string& reason) {
  const Node& node = request.node;
  const ops::GemmLayout layout(node);
  const Dims &x = request.in(0).dims, &y = request.out().dims;
  const bool by_column = asked.bias_input && !request.in(2).dims.empty() && request.in(2).size() == y[1] &&
                         request.in(2).dims.back() == y[1];
  if (asked.element == ElementType::kFloat || layout.transpose_a || !by_column ||
      ops::real_attribute(node, "alpha") != 1 || ops::real_attribute(node, "beta") != 1) {
    reason = "cuDNN is asked for products of 16 bits with an addend for each column only";
    return std::nullopt;
  }
  asked.channels_last = true;
  asked.turns_weights = !layout.transpose_b;
  asked.axes = {ops::WindowAxis{x[0], x[0]}, ops::WindowAxis{}};
  asked.x = tensor({1, x[1], x[0], 1}, true);
  asked.w = tensor({y[1], x[1], 1, 1}, true);
  asked.y = tensor({1, y[1], x[0], 1}, true);
  asked.bias = tensor({1, y[1], 1, 1}, true);
  return asked;
}

}  // namespace

std::optional<DnnConvolution> dnn_convolution(const KernelRequest& request, std::string& reason) {
  const bool is_group = ops::is_group(request.node);
  const auto fused =
      is_group && ops::group_kind(request.node) != "conv" ? std::nullopt : parse_fused(request, reason);
  const bool convolves = fused && fused->anchor->domain.empty() && fused->anchor->op == "Conv";
  if (!convolves && (is_group || request.node.op != "Gemm" || !request.node.domain.empty())) {
    reason = "cuDNN is asked for convolutions and products only";
    return std::nullopt;
  }
  if (!is_served(request, *fused, reason)) return std::nullopt;
  DnnConvolution asked;
  asked.x_input = static_cast<size_t>(fused->inputs[0]);
  asked.w_input = static_cast<size_t>(fused->inputs[1]);
  if (fused->inputs.size() > 2 && fused->inputs[2] >= 0)
    asked.bias_input = static_cast<size_t>(fused->inputs[2]);
  asked.element = request.in(asked.x_input).element;
  asked.tf32 = asked.element == ElementType::kFloat && ops::may_round_to_tf32(*fused->anchor);
  return convolves ? of_convolution(request, *fused, asked, reason) : of_product(request, asked, reason);
}

bool has_few_channels(const KernelRequest& request, const DnnConvolution& asked) {
  const Operand &x = request.in(asked.x_input), &w = request.in(asked.w_input);
  return asked.element != ElementType::kFloat && request.node.op != "Gemm" && x.rank() >= 3 &&
         x.dims[1] < kPaddedChannels && w.dims[1] == x.dims[1] && w.constant != nullptr;
}

std::string text_of(const DnnConvolution& asked) {
  std::string text =
      fmt::format("{} x {} {} w {} y {}", element_type_short_name(asked.element), dims_text(asked.x.sizes),
                  asked.channels_last, dims_text(asked.w.sizes), dims_text(asked.y.sizes));
  for (const ops::WindowAxis& axis : asked.axes)
    text += fmt::format(" {}/{}/{}/{}", axis.stride, axis.dilation, axis.pad_begin, axis.pad_end);
  return text + fmt::format(" {} {} {} {}{}", asked.bias_input || asked.adds_zeros,
                            asked.residual_input.has_value(), asked.relu, asked.most,
                            asked.tf32 ? " tf32" : "");
}

namespace {

bool is_depthwise_in_16_bits(const Node& anchor) {
  const TensorType &x = anchor.input(0)->type.tensor, &w = anchor.input(1)->type.tensor;
  return element_size(x.element) == 2 && w.shape && w.shape->size() >= 3 && (*w.shape)[1].constant() == 1 &&
         ops::integer_attribute(anchor, "group") > 1;
}

}  // namespace

bool can_follow_convolution(const Node& anchor, const Node& next, const Value& chain) {
  if (anchor.op != "Conv" || !next.domain.empty() || next.inputs.empty()) return false;
  const Node* before = chain.producer();
  const bool is_behind_anchor = before == &anchor;
  const Value* made = next.output(0);
  if (made == nullptr || made->type.tensor.element != chain.type.tensor.element) return false;
  if (next.op == "Add") {
    const Value* other = next.input(next.input(0) == &chain ? 1 : 0);
    return is_behind_anchor && other != &chain && other->type.is_tensor() &&
           other->type.tensor.shape.has_value() && other->type.tensor.shape == chain.type.tensor.shape;
  }
  if (before == nullptr || (!is_behind_anchor && before->op != "Add")) return false;
  if (next.op == "Relu") return true;
  if (is_depthwise_in_16_bits(anchor) && is_behind_anchor && (next.op == "Swish" || next.op == "HardSwish"))
    return true;
  // From zero to a bound: only plans for any convolution cut so, which are fast for those of single channels.
  if (next.op != "Clip" || next.input(0) != &chain || ops::integer_attribute(anchor, "group") == 1)
    return false;
  if (next.version < 11) return ops::clip_bound_attribute(next, "min").value_or(-1) == 0;
  const Value* least = next.inputs.size() > 1 ? next.input(1) : nullptr;
  const auto is_known = [](const Value* bound) {
    return bound == nullptr || (bound->is_constant() && bound->constant->size() == 1);
  };
  return least != nullptr && is_known(least) && least->constant->to_doubles()[0] == 0 &&
         is_known(next.inputs.size() > 2 ? next.input(2) : nullptr);
}

}  // namespace vernier::cuda
