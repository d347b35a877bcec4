#include "vernier/backends/shared/epilogue.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

using Kind = PostOp::Kind;

std::optional<double> scalar(const Tensor* tensor) {
  if (tensor == nullptr || tensor->size() != 1 || tensor->type() == ElementType::kString) return std::nullopt;
  return tensor->to_doubles()[0];
}

// Operators of one argument that are a post-op, perhaps two.
std::vector<PostOp> unary(const Node& node) {
  const auto real = [&](const char* name) { return ops::real_attribute(node, name); };
  if (node.op == "Relu") return {{Kind::kRelu}};
  if (node.op == "LeakyRelu" && real("alpha") != 0) return {{Kind::kRelu, real("alpha")}};
  if (node.op == "Sigmoid") return {{Kind::kSigmoid}};
  if (node.op == "Tanh") return {{Kind::kTanh}};
  if (node.op == "Elu") return {{Kind::kElu, real("alpha")}};
  if (node.op == "Abs") return {{Kind::kAbs}};
  if (node.op == "Sqrt") return {{Kind::kSqrt}};
  if (node.op == "Exp") return {{Kind::kExp}};
  if (node.op == "Neg") return {{Kind::kLinear, -1, 0}};
  if (node.op == "HardSwish") return {{Kind::kHardSwish}};
  if (node.op == "Swish") return {{Kind::kSwish, real("alpha")}};
  if (node.op == "HardSigmoid") return {{Kind::kLinear, real("alpha"), real("beta")}, {Kind::kClip, 0, 1}};
  if (node.op == "Gelu")
    return {{ops::text_attribute(node, "approximate") == "tanh" ? Kind::kGeluTanh : Kind::kGeluErf}};
  return {};
}

std::optional<Kind> binary(const std::string& op) {
  if (op == "Add" || op == "Sum") return Kind::kAdd;
  if (op == "Sub") return Kind::kSubtract;
  if (op == "Mul") return Kind::kMultiply;
  if (op == "Div") return Kind::kDivide;
  if (op == "Max") return Kind::kMax;
  if (op == "Min") return Kind::kMin;
  return std::nullopt;
}

// x op constant as a line, where that is the same arithmetic: one rounding.
std::optional<PostOp> line(Kind kind, double value) {
  const auto real = static_cast<float>(value);
  switch (kind) {
    case Kind::kAdd: return PostOp{Kind::kLinear, 1, real};
    case Kind::kSubtract: return PostOp{Kind::kLinear, 1, -real};
    case Kind::kMultiply: return PostOp{Kind::kLinear, real, 0};
    default: return std::nullopt;
  }
}

// Post-ops of a node of a body; `content` gives the constant behind a value, `index` its place in the
// request.
std::vector<PostOp> post_ops_of(const Node& node, const Value* chain,
                                const std::function<const Tensor*(const Value*)>& content,
                                const std::function<int(const Value*)>& index) {
  if (node.op == "Clip" && node.version >= 11 && node.input(0) == chain) {
    const auto low = node.input(1) == nullptr ? -HUGE_VAL : scalar(content(node.input(1)));
    const auto high = node.input(2) == nullptr ? HUGE_VAL : scalar(content(node.input(2)));
    if (!low || !high || *low > *high) return {};
    return {{Kind::kClip, static_cast<float>(*low), static_cast<float>(*high)}};
  }
  if (node.op == "Clip" && node.version < 11)
    return {{Kind::kClip, ops::clip_bound_attribute(node, "min").value_or(-HUGE_VALF),
             ops::clip_bound_attribute(node, "max").value_or(HUGE_VALF)}};
  if (const auto kind = binary(node.op); kind && node.inputs.size() == 2) {
    const bool first = node.input(0) == chain;
    const Value* other = node.input(first ? 1 : 0);
    if (other == chain || (!first && (*kind == Kind::kSubtract || *kind == Kind::kDivide))) return {};
    if (const auto value = scalar(content(other))) {
      if (const auto post = line(*kind, *value)) return {*post};
    }
    return {{*kind, 0, 0, index(other)}};
  }
  return node.inputs.size() == 1 ? unary(node) : std::vector<PostOp>{};
}

// A chain that was narrow goes on as floats: what oneDNN has before it stores.
bool is_widening(const Node& node) {
  const Value *from = node.input(0), *to = node.output(0);
  return node.op == "Cast" &&
         (from->type.tensor.element == ElementType::kBFloat16 ||
          from->type.tensor.element == ElementType::kFloat16) &&
         to->type.tensor.element == ElementType::kFloat;
}

std::optional<Fused> parse_group(const KernelRequest& request, std::string& reason) {
  const Graph& body = ops::body(request.node);
  const auto place = [&](const Value* value) {
    const auto found = std::find(body.inputs.begin(), body.inputs.end(), value);
    return found == body.inputs.end() ? -1 : static_cast<int>(found - body.inputs.begin());
  };
  const auto content = [&](const Value* value) -> const Tensor* {
    const int at = place(value);
    return at < 0 ? nullptr : request.in(static_cast<size_t>(at)).constant;
  };
  Fused fused;
  const Value* chain = nullptr;
  for (const auto& node : body.nodes()) {
    if (fused.anchor == nullptr) {
      fused.anchor = node.get();
      for (const Value* input : node->inputs) fused.inputs.push_back(input == nullptr ? -1 : place(input));
    } else if (!is_widening(*node)) {
      const auto post_ops = post_ops_of(*node, chain, content, place);
      if (post_ops.empty()) {
        reason = fmt::format("{} cannot follow in an epilogue", node->op);
        return std::nullopt;
      }
      for (const PostOp& post : post_ops) {
        if (post.kind >= Kind::kAdd && post.operand < 0)
          throw internal_error("an epilogue reads what is no input of its group").at_node(node->name);
      }
      fused.post_ops.insert(fused.post_ops.end(), post_ops.begin(), post_ops.end());
    }
    chain = node->output(0);
  }
  return fused;
}

}  // namespace

std::optional<Fused> parse_fused(const KernelRequest& request, std::string& reason) {
  if (ops::is_group(request.node)) return parse_group(request, reason);
  Fused fused{&request.node, {}, {}};
  for (size_t i = 0; i < request.inputs.size(); ++i)
    fused.inputs.push_back(request.has(i) ? static_cast<int>(i) : -1);
  return fused;
}

namespace {

// oneDNN's functions make numbers of NaN: its Relu gives 0. What overflowed float16 must stay seen.
bool hides_overflow(const Node& next, const Value& chain) {
  static const std::set<std::string_view> keep_nan = {"Add", "Sub", "Mul", "Div"};
  return chain.type.tensor.element == ElementType::kFloat16 && !keep_nan.contains(next.op);
}

// Whether what an image is combined with is a number, or one for each channel or for each element: kernels
// have no numbers for each pixel of all channels.
bool lies_by_channel(const Value& operand, const Value& image) {
  if (!operand.type.is_tensor() || !operand.type.tensor.shape) return true;
  const auto dims = to_dims(*operand.type.tensor.shape), of_image = to_dims(*image.type.tensor.shape);
  if (!dims || !of_image || *dims == *of_image) return true;
  constexpr int64_t kChannel = 1;
  const auto missing = static_cast<int64_t>(of_image->size()) - static_cast<int64_t>(dims->size());
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != 1 && static_cast<int64_t>(i) + missing != kChannel) return false;
  }
  return true;
}

}  // namespace

bool can_follow(const Node& anchor, const Node& next, const Value& chain) {
  if (!next.domain.empty() || hides_overflow(next, chain)) return false;
  const auto lies = [&](const Value* input) {
    return input == nullptr || input == &chain || lies_by_channel(*input, chain);
  };
  if (anchor.op == "Conv" && !std::all_of(next.inputs.begin(), next.inputs.end(), lies)) return false;
  if (is_widening(next)) return true;
  const auto content = [](const Value* value) { return value->is_constant() ? &*value->constant : nullptr; };
  return !post_ops_of(next, &chain, content, [](const Value*) { return 0; }).empty();
}

}  // namespace vernier
