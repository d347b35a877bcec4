// Operators that TensorRT's ONNX parser does not have, or has in part.
#include <algorithm>
#include <set>
#include <span>

#include "vernier/check/tensorrt_rules.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// TensorRT's documents name the first two, and its parser warns below the third. It refuses none for its
// number.
constexpr int64_t kOldestOpset = 9, kNewestOpset = 25, kLeastOpset = 7;
constexpr int64_t kMostAxes = 8;

void opset(const CheckContext& context, std::vector<Finding>& findings) {
  const int64_t version = context.model().opset("");
  if (version == 0 || (version >= kOldestOpset && version <= kNewestOpset)) return;
  const bool read = version >= kLeastOpset && version < kOldestOpset;
  findings.push_back(
      {.rule = "TRT13-opset",
       .severity = read ? Severity::kNote : Severity::kWarning,
       .effect = read ? 0.05 : 0.5,
       .node = "",
       .message = fmt::format("the model has opset {}; TensorRT 11 is documented for opsets {} to {}{}",
                              version, kOldestOpset, kNewestOpset,
                              read ? ", and its parser reads this one without a warning" : ""),
       .remedy = version < kOldestOpset ? "`vernier export MODEL --for tensorrt` converts it to a newer opset"
                                        : "export it for an older opset"});
}

bool is_lacking(const Node& node) {
  static const std::set<std::string_view> ops = {"AffineGrid",
                                                 "Bernoulli",
                                                 "BitShift",
                                                 "BitwiseAnd",
                                                 "BitwiseNot",
                                                 "BitwiseOr",
                                                 "BitwiseXor",
                                                 "CenterCropPad",
                                                 "Col2Im",
                                                 "Compress",
                                                 "ConcatFromSequence",
                                                 "ConvInteger",
                                                 "Det",
                                                 "DynamicQuantizeLinear",
                                                 "ImageDecoder",
                                                 "MatMulInteger",
                                                 "MaxRoiPool",
                                                 "MaxUnpool",
                                                 "MelWeightMatrix",
                                                 "Multinomial",
                                                 "NegativeLogLikelihoodLoss",
                                                 "Optional",
                                                 "OptionalGetElement",
                                                 "OptionalHasElement",
                                                 "QLinearConv",
                                                 "QLinearMatMul",
                                                 "RegexFullMatch",
                                                 "SequenceAt",
                                                 "SequenceConstruct",
                                                 "SequenceEmpty",
                                                 "SequenceErase",
                                                 "SequenceInsert",
                                                 "SequenceLength",
                                                 "SequenceMap",
                                                 "SoftmaxCrossEntropyLoss",
                                                 "SplitToSequence",
                                                 "StringConcat",
                                                 "StringNormalizer",
                                                 "StringSplit",
                                                 "TfIdfVectorizer",
                                                 "Unique"};
  return ops.contains(node.op);
}

void operators(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (node->domain.empty() && !is_lacking(*node)) continue;
    const bool integers = node->op.find("QLinear") == 0 || node->op.find("Integer") != std::string::npos;
    collector.add(broken("TRT14-operator", *node,
                         node->domain.empty()
                             ? fmt::format("TensorRT's parser has no {}", node->op)
                             : fmt::format("{} of {} needs a plugin", node->op, node->domain),
                         integers ? "say it as DequantizeLinear, the operator in float, and QuantizeLinear"
                                  : "express it by other operators, or give TensorRT a plugin for it"));
  }
}

// Why the parser refuses a node of an operator that it has; "" if it does not.
std::string limit_of(const CheckContext& context, const Node& node) {
  const auto text = [&](const char* name) { return node.attribute<std::string>(name, {}); };
  const auto flag = [&](const char* name) { return node.attribute<int64_t>(name, {}) != 0; };
  if (node.op == "TopK") {
    const auto k = context.scalar(node.input(1));
    if (ops::integer_attribute(node, "sorted") == 0) return "it has TopK with sorted=1 only";
    return k && *k >= 3840 ? fmt::format("K is {}, and must be below 3840", *k) : "";
  }
  if (node.op == "Resize") {
    if (text("mode") == "cubic") return "it has no cubic Resize";
    if (flag("antialias")) return "it has no antialiasing";
    const std::string policy = text("keep_aspect_ratio_policy");
    return policy.empty() || policy == "stretch" ? "" : "it stretches only";
  }
  if (node.op == "ScatterND" && ops::text_attribute(node, "reduction") != "none")
    return "it has ScatterND without reduction only";
  if (ops::has_trait(node, ops::kRecurrent)) {
    if (flag("layout")) return "it has layout 0 only";
    return node.op == "LSTM" && flag("input_forget") ? "it has no coupled gates" : "";
  }
  if (node.op == "ConvTranspose" && context.type(node.input(0)) == ElementType::kBFloat16)
    return "it has none of BF16";
  if (node.op == "MaxPool" && node.output(1) != nullptr) return "it gives no indices of MaxPool";
  if (node.op == "MaxPool" || node.op == "AveragePool") {
    const auto dilations = node.attribute<std::vector<int64_t>>("dilations", {});
    const bool dilated = std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; });
    return dilated ? "it has no pools with dilations" : "";
  }
  if (node.op == "CumSum" && context.constant(node.input(1)) == nullptr)
    return "the axis must be known when the engine is built";
  if (node.op == "LayerNormalization" && (node.output(1) != nullptr || node.output(2) != nullptr))
    return "it gives the normalised values only, and neither means nor deviations";
  return "";
}

void limits(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (!node->domain.empty()) continue;
    std::string limit = limit_of(context, *node);
    const Value* output = node->output(0);
    if (output != nullptr && output->type.is_tensor() && output->type.tensor.shape &&
        output->type.tensor.shape->size() > kMostAxes)
      limit = fmt::format("the result has {} axes, and may have {}", output->type.tensor.shape->size(),
                          kMostAxes);
    if (!limit.empty())
      collector.add(broken("TRT15-limit", *node, fmt::format("{}: {}", node->op, limit),
                           "express it within the limits of TensorRT's operator table"));
  }
}

// Whether the operand decides the sizes of what a node makes, or how many of something it takes.
bool decides_sizes(const Node& node, size_t input) {
  const bool cuts = node.op == "Slice" && input > 0;
  return node.domain.empty() &&
         (cuts || node.op == "Range" || ops::has_role(node, input, {ops::Role::kSizes}));
}

// The input of FLOAT whose elements a value is computed from, by what may stand in the arithmetic of sizes;
// null if there is none.
const Value* float_input_behind(const CheckContext& context, const Value* value) {
  static const std::set<std::string_view> arithmetic = {
      "Add", "Cast", "Ceil", "Concat", "Div",   "Floor",   "Gather", "Identity",
      "Max", "Min",  "Mul",  "Round",  "Slice", "Squeeze", "Sub",    "Unsqueeze"};
  std::vector<const Value*> open{value};
  std::set<const Value*> seen;
  while (!open.empty()) {
    const Value* next = open.back();
    open.pop_back();
    if (next == nullptr || context.constant(next) != nullptr || !seen.insert(next).second) continue;
    const Node* maker = next->producer();
    if (maker == nullptr) {
      const auto& inputs = context.model().graph->inputs;
      if (is_float(context.type(next)) && std::find(inputs.begin(), inputs.end(), next) != inputs.end())
        return next;
      continue;
    }
    if (!maker->domain.empty() || !arithmetic.contains(maker->op)) continue;
    open.insert(open.end(), maker->inputs.begin(), maker->inputs.end());
  }
  return nullptr;
}

void float_sizes(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Value* input = decides_sizes(*node, i) ? float_input_behind(context, node->input(i)) : nullptr;
      if (input == nullptr) continue;
      collector.add(
          broken("TRT16-float-sizes", *node,
                 fmt::format("{} takes sizes or counts that are computed from '{}', an input of {}; "
                             "TensorRT's parser has such inputs of INT32 and INT64 alone",
                             node->op, input->name, element_type_name(context.type(input))),
                 "make it an input of INT64, or a constant"));
      break;
    }
  }
}

}  // namespace

void tensorrt_operator_rules(std::vector<Rule>& rules) {
  rules.push_back({"TRT13-opset", "opsets that TensorRT does not read", opset});
  rules.push_back({"TRT14-operator", "operators that TensorRT's parser does not have", operators});
  rules.push_back({"TRT15-limit", "operators beyond the limits of TensorRT's parser", limits});
  rules.push_back({"TRT16-float-sizes", "sizes that are computed from an input of floats", float_sizes});
}

}  // namespace vernier
