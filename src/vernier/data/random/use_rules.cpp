#include <cmath>

#include "vernier/data/random/value_rule.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

constexpr std::string_view kOnnx = "", kMl = "ai.onnx.ml", kMicrosoft = "com.microsoft";

// Input `indices` selects along an axis of input `table`: the attribute's, if there is one.
struct IndexUse {
  std::string_view domain, op;
  size_t indices, table;
  int64_t axis;
  std::string_view attribute = {};
};

constexpr IndexUse kIndexUses[] = {{kOnnx, "Gather", 1, 0, 0, "axis"},
                                   {kOnnx, "GatherElements", 1, 0, 0, "axis"},
                                   {kOnnx, "ScatterElements", 1, 0, 0, "axis"},
                                   {kOnnx, "Scatter", 1, 0, 0, "axis"},
                                   {kOnnx, "RoiAlign", 2, 0, 0},
                                   {kOnnx, "RotaryEmbedding", 3, 1, 0},
                                   {kOnnx, "NegativeLogLikelihoodLoss", 1, 0, 1},
                                   {kOnnx, "SoftmaxCrossEntropyLoss", 1, 0, 1},
                                   {kMl, "ArrayFeatureExtractor", 1, 0, -1},
                                   {kMicrosoft, "RotaryEmbedding", 1, 2, 0},
                                   {kMicrosoft, "GatherBlockQuantized", 1, 0, 0, "gather_axis"},
                                   {kMicrosoft, "EmbedLayerNormalization", 0, 2, 0},
                                   {kMicrosoft, "EmbedLayerNormalization", 1, 4, 0},
                                   {kMicrosoft, "EmbedLayerNormalization", 8, 3, 0},
                                   {kMicrosoft, "QEmbedLayerNormalization", 0, 2, 0},
                                   {kMicrosoft, "QEmbedLayerNormalization", 1, 4, 0}};

// Input `lengths` counts steps along an axis of input `sequence`.
constexpr IndexUse kLengthUses[] = {
    {kOnnx, "LSTM", 4, 0, 0, "layout"},          {kOnnx, "GRU", 4, 0, 0, "layout"},
    {kOnnx, "RNN", 4, 0, 0, "layout"},           {kOnnx, "ReverseSequence", 1, 0, 0, "time_axis"},
    {kOnnx, "TopK", 1, 0, -1, "axis"},           {kOnnx, "Attention", 6, 1, -2},
    {kMicrosoft, "DynamicQuantizeLSTM", 4, 0, 0}};

struct NumberUse {
  std::string_view op;
  size_t input;
  double low, high;
};

// Where other numbers give NaN, Inf or an error.
constexpr NumberUse kIntervalUses[] = {{"Log", 0, 0.1, 2},
                                       {"Sqrt", 0, 0.1, 2},
                                       {"Mod", 1, 1, 4},
                                       {"Acos", 0, -0.9, 0.9},
                                       {"Asin", 0, -0.9, 0.9},
                                       {"Atanh", 0, -0.9, 0.9},
                                       {"Acosh", 0, 1.1, 3},
                                       {"Bernoulli", 0, 0, 1},
                                       {"Dropout", 1, 0, 0.9},
                                       {"Resize", 2, 1, 2},
                                       {"Upsample", 1, 1, 2},
                                       {"NonMaxSuppression", 3, 0.1, 0.9},
                                       {"NonMaxSuppression", 4, 0.1, 0.9}};

// Numbers that become sizes, counts or places.
constexpr NumberUse kSizeUses[] = {{"ConstantOfShape", 0, 1, 4},
                                   {"Range", 1, 1, 8},
                                   {"Range", 0, 0, 0},
                                   {"Range", 2, 1, 2},
                                   {"Tile", 1, 1, 3},
                                   {"Expand", 1, 1, 1},
                                   {"Loop", 0, 1, 8},
                                   {"OneHot", 1, 1, 8},
                                   {"NonMaxSuppression", 2, 1, 8},
                                   {"Pad", 1, 0, 2},
                                   {"Slice", 1, 0, 0},
                                   {"Slice", 2, 1, 8},
                                   {"Slice", 4, 1, 1},
                                   {"Resize", 3, 1, 8},
                                   {"HannWindow", 0, 2, 16},
                                   {"HammingWindow", 0, 2, 16},
                                   {"BlackmanWindow", 0, 2, 16}};

constexpr std::pair<std::string_view, size_t> kMaskUses[] = {{"EmbedLayerNormalization", 7},
                                                             {"QEmbedLayerNormalization", 7},
                                                             {"Attention", 3},
                                                             {"QAttention", 5},
                                                             {"MultiHeadAttention", 4},
                                                             {"DecoderMaskedMultiHeadAttention", 3}};

std::string title(const Node& node) {
  return fmt::format("{} '{}'", node.op, node.name);
}

std::optional<Dim> size_of(const Value* value, int64_t axis) {
  if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) return std::nullopt;
  const Shape& shape = *value->type.tensor.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) return std::nullopt;
  return shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
}

std::optional<Dim> table_size(const IndexUse& known, const Use& use) {
  if (known.domain != use.node->domain || known.op != use.node->op || known.indices != use.input)
    return std::nullopt;
  const int64_t axis =
      known.attribute.empty() ? known.axis : ops::integer_attribute(*use.node, known.attribute);
  return size_of(use.node->input(known.table), axis).value_or(Dim(0));
}

ValueRule integers(RuleKind kind, Dim low, std::optional<Dim> high, std::string why) {
  ValueRule rule;
  rule.kind = kind;
  rule.bounds = {{std::move(low), std::move(high)}};
  rule.why = {std::move(why)};
  return rule;
}

// A table of no known size is written as size 0.
std::optional<Dim> last_of(const Dim& size) {
  return size == Dim(0) ? std::nullopt : std::optional(size - 1);
}

std::optional<ValueRule> index_rule(const Use& use) {
  const Node& node = *use.node;
  for (const IndexUse& known : kIndexUses) {
    if (const auto size = table_size(known, use))
      return integers(RuleKind::kIndices, 0, last_of(*size), "indices of " + title(node));
  }
  if (node.op == "OneHot" && use.input == 0) {
    const auto depth = constant_number(node.input(1));
    return integers(RuleKind::kIndices, 0,
                    depth ? std::optional(Dim(static_cast<int64_t>(*depth) - 1)) : std::nullopt,
                    "indices of " + title(node));
  }
  // Axes count within the rank of input 0.
  if (ops::role_of(node, use.input) == ops::Role::kAxes && node.input(0) != nullptr &&
      node.input(0)->type.tensor.shape) {
    const auto rank = static_cast<int64_t>(node.input(0)->type.tensor.shape->size());
    return integers(RuleKind::kIndices, 0, Dim(std::max<int64_t>(rank, 1) - 1), "axes of " + title(node));
  }
  return std::nullopt;
}

// The last axis of the indices names one element of several axes of the table.
std::optional<ValueRule> coordinate_rule(const Use& use) {
  const Node& node = *use.node;
  if ((node.op != "GatherND" && node.op != "ScatterND") || use.input != 1) return std::nullopt;
  ValueRule rule = integers(RuleKind::kIndices, 0, std::nullopt, "indices of " + title(node));
  const int64_t first = node.op == "GatherND" ? ops::integer_attribute(node, "batch_dims") : 0;
  const auto count = size_of(node.input(1), -1).value_or(Dim(0)).constant();
  for (int64_t i = 0; i < std::min<int64_t>(count.value_or(0), 64); ++i) {
    if (const auto size = size_of(node.input(0), first + i)) rule.bounds.push_back({0, *size - 1});
  }
  return rule;
}

std::optional<ValueRule> length_rule(const Use& use) {
  for (const IndexUse& known : kLengthUses) {
    const auto size = table_size(known, use);
    if (size)
      return integers(RuleKind::kLengths, 1, *size == Dim(0) ? std::nullopt : size,
                      "lengths in " + title(*use.node));
  }
  return std::nullopt;
}

std::optional<ValueRule> size_rule(const Use& use) {
  const Node& node = *use.node;
  if (node.op == "Reshape" && use.input == 1)
    return integers(RuleKind::kNewShape, 1, Dim(1), "shape of " + title(node));
  for (const NumberUse& known : kSizeUses) {
    if (known.op != node.op || known.input != use.input) continue;
    return integers(RuleKind::kSizes, static_cast<int64_t>(known.low), Dim(static_cast<int64_t>(known.high)),
                    "sizes of " + title(node));
  }
  return std::nullopt;
}

std::optional<ValueRule> interval_rule(const Use& use) {
  const Node& node = *use.node;
  ValueRule rule;
  rule.kind = RuleKind::kInterval;
  rule.why = {"read by " + title(node)};
  if (node.op == "Pow" && use.input == 0) {
    const auto exponent = constant_number(node.input(1));
    if (exponent && *exponent >= 0 && *exponent == std::floor(*exponent)) return std::nullopt;
    rule.low = 0.1, rule.high = 2;
    return rule;
  }
  using ops::Role;
  if (ops::has_role(
          node, use.input,
          {Role::kDivisor, Role::kVariance, Role::kScale, Role::kWeightScale, Role::kResultScale})) {
    rule.low = 0.1, rule.high = 2;
    return rule;
  }
  for (const NumberUse& known : kIntervalUses) {
    if (known.op != node.op || known.input != use.input) continue;
    rule.low = known.low, rule.high = known.high;
    return rule;
  }
  return std::nullopt;
}

std::optional<ValueRule> mask_rule(const Use& use) {
  for (const auto& [op, input] : kMaskUses) {
    if (use.node->op != op || use.input != input) continue;
    ValueRule rule;
    rule.kind = RuleKind::kMask;
    rule.why = {"mask of " + title(*use.node)};
    return rule;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ValueRule> rule_of_use(const Use& use) {
  for (const auto find : {index_rule, coordinate_rule, length_rule, mask_rule}) {
    if (auto rule = find(use)) return rule;
  }
  if (!use.node->domain.empty()) return std::nullopt;
  if (auto rule = size_rule(use)) return rule;
  return interval_rule(use);
}

}  // namespace vernier
