// com.microsoft MoE: every token (row of the input) goes through the k experts that its router scores are
// highest for, each fc2(activation(fc1(x))), and gets the sum weighted by the softmax of the scores. A third
// layer multiplies the activation; the gated SwiGLU takes its two parts from fc1 (interleaved, or one behind
// the other) or from fc1 and fc3. QMoE: the same of packed integer weights [experts, outputs, inputs *
// bits / 8], with scales and zero points of each row, or of each block of a row.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/nn/expert_weights.h"
#include "vernier/ops/support/optional_reals.h"
#include "vernier/ops/support/quant/packed_weights.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kScores };

struct Form {
  ExpertLayer fc1, fc2, fc3;
  size_t router_weights;
  ExpertMatrix (*matrix)(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert);
};

constexpr Form kReal{{2, 3, 0}, {4, 5, 1}, {6, 7, 2}, 99, real_expert};
constexpr Form kInteger{{2, 4, 0}, {5, 7, 1}, {8, 10, 2}, 14, integer_expert};

// The tokens of one expert, and what its results count.
struct Share {
  std::vector<int64_t> tokens;
  std::vector<double> weights;
};

std::vector<Share> route(const ReferenceContext& context, int64_t tokens, size_t router_weights) {
  const int64_t experts = context.dims(kScores).back(), count = context.attribute<int64_t>("k", 1);
  if (count < 1 || count > experts) throw bad_input("{} of {} experts", count, experts);
  const auto scores = context.reals(kScores);
  if (scores.size() != tokens * experts)
    throw bad_input("scores {} for {} tokens", dims_text(context.dims(kScores)), tokens);
  const bool given = context.has(router_weights);
  const auto weights = optional_reals(context, router_weights, tokens * experts);
  const bool normalised = context.attribute<int64_t>("normalize_routing_weights", 0) != 0;
  std::vector<Share> shares(static_cast<size_t>(experts));
  std::vector<int64_t> order(shares.size());
  for (int64_t token = 0; token < tokens; ++token) {
    const double* row = scores.data() + token * experts;
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row[a] > row[b]; });
    const auto weight = [&](int64_t expert) {
      return given ? weights[token * experts + expert] : std::exp(row[expert] - row[order[0]]);
    };
    double sum = 0;
    const int64_t counted = normalised ? count : experts;
    for (int64_t i = 0; i < counted; ++i) sum += weight(order[static_cast<size_t>(i)]);
    if (given && !normalised) sum = 1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t expert = order[static_cast<size_t>(i)];
      shares[static_cast<size_t>(expert)].tokens.push_back(token);
      shares[static_cast<size_t>(expert)].weights.push_back(sum == 0 ? 0 : weight(expert) / sum);
    }
  }
  return shares;
}

// rows * weights^T + bias of one expert.
std::vector<double> apply(const ReferenceContext& context, const Form& form, const ExpertLayer& layer,
                          int64_t expert, std::span<const double> rows, size_t count) {
  const ExpertMatrix matrix = form.matrix(context, layer, expert);
  if (rows.size() != count * static_cast<size_t>(matrix.inputs))
    throw bad_input("{} inputs for weights {}", rows.size() / count, dims_text(context.dims(layer.weights)));
  auto y = times_transposed(rows, matrix.values, matrix.outputs, matrix.inputs);
  if (!context.has(layer.bias)) return y;
  const auto bias = optional_reals(context, layer.bias, context.dims(layer.weights)[0] * matrix.outputs);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += bias[expert * matrix.outputs + static_cast<int64_t>(i) % matrix.outputs];
  return y;
}

// Combines gates g and linear parts l, each [rows, inner].
std::vector<double> swiglu(const Node& node, std::vector<double> g, std::span<const double> l) {
  const double alpha = node.attribute<float>("activation_alpha", 1),
               beta = node.attribute<float>("activation_beta", 0);
  const double limit = node.find_attribute("swiglu_limit") == nullptr
                           ? std::numeric_limits<double>::infinity()
                           : node.attribute<float>("swiglu_limit", 0);
  for (size_t i = 0; i < g.size(); ++i) {
    const double gate = std::min(g[i], limit);
    g[i] = gate * sigmoid(alpha * gate) * (std::clamp(l[i], -limit, limit) + beta);
  }
  return g;
}

// Both parts of rows of an even size, which lie one behind the other, or interleaved.
std::vector<double> fused_swiglu(const Node& node, std::span<const double> values, size_t rows,
                                 bool interleaved) {
  const size_t inner = values.size() / rows / 2;
  if (inner * 2 * rows != values.size())
    throw bad_input("{} sums cannot be split in two", values.size() / rows);
  std::vector<double> g, l;
  for (size_t i = 0; i < rows * inner; ++i) {
    const size_t row = i / inner * 2 * inner, at = i % inner;
    g.push_back(values[row + (interleaved ? 2 * at : at)]);
    l.push_back(values[row + (interleaved ? 2 * at + 1 : inner + at)]);
  }
  return swiglu(node, std::move(g), l);
}

double (*activation_of(const std::string& name))(double) {
  if (name == "relu") return relu;
  if (name == "gelu") return gelu_tanh;
  if (name == "silu") return silu;
  if (name == "identity") return [](double x) { return x; };
  throw bad_input("activation_type '{}' is none of relu, gelu, silu, swiglu and identity", name);
}

// Computes what enters the last layer.
std::vector<double> activated(const ReferenceContext& context, const Form& form, int64_t expert,
                              std::span<const double> rows, size_t count) {
  auto inner = apply(context, form, form.fc1, expert, rows, count);
  const auto name = context.attribute<std::string>("activation_type", "relu");
  const auto fusion = context.attribute<int64_t>("swiglu_fusion", 0);
  if (name == "swiglu" && fusion != 0) return fused_swiglu(context.node(), inner, count, fusion == 1);
  const bool gated = context.has(form.fc3.weights);
  if (name == "swiglu" && !gated) throw bad_input("swiglu needs fc3 or swiglu_fusion");
  const auto linear = gated ? apply(context, form, form.fc3, expert, rows, count) : std::vector<double>();
  if (gated && linear.size() != inner.size()) throw bad_input("fc1 and fc3 differ in size");
  if (name == "swiglu") return swiglu(context.node(), std::move(inner), linear);
  auto* const activation = activation_of(name);
  for (size_t i = 0; i < inner.size(); ++i) inner[i] = activation(inner[i]) * (gated ? linear[i] : 1);
  return inner;
}

void require_supported(const ReferenceContext& context) {
  if (context.attribute<int64_t>("use_sparse_mixer", 0) != 0)
    throw unsupported("{} with use_sparse_mixer", context.node().op);
  const auto type = context.attribute<std::string>("quant_type", "int");
  if (type != "int") throw unsupported("{} with weights of '{}'", context.node().op, type);
  if (context.attribute<int64_t>("weights_prepacked", -1) > 0)
    throw unsupported("{} with weights in the layout of one engine", context.node().op)
        .advise("export the model with weights_prepacked = 0");
}

void infer_moe(InferContext& context) {
  const auto &x = context.shape(kX), &scores = context.shape(kScores);
  if ((x && x->size() < 2) || (scores && scores->size() != 2))
    throw bad_input("input {} and scores {} are no rows", x ? shape_text(*x) : "?",
                    scores ? shape_text(*scores) : "?");
  context.set_output(0, context.element(kX), x);
}

template <const Form& form>
void reference_moe(ReferenceContext& context) {
  require_supported(context);
  const auto x = context.reals(kX);
  const int64_t hidden = context.dims(kX).back();
  const int64_t tokens = hidden == 0 ? 0 : x.size() / hidden;
  const auto shares = route(context, tokens, form.router_weights);
  std::vector<double> y(static_cast<size_t>(x.size()));
  for (size_t expert = 0; expert < shares.size(); ++expert) {
    const Share& share = shares[expert];
    if (share.tokens.empty()) continue;
    std::vector<double> rows;
    for (const int64_t token : share.tokens) {
      const double* row = x.data() + token * hidden;
      rows.insert(rows.end(), row, row + hidden);
    }
    const auto at = static_cast<int64_t>(expert);
    const auto inner = activated(context, form, at, rows, share.tokens.size());
    const auto result = apply(context, form, form.fc2, at, inner, share.tokens.size());
    if (result.size() != rows.size()) throw bad_input("fc2 does not give the size of the input back");
    for (size_t i = 0; i < result.size(); ++i) {
      const size_t row = i / static_cast<size_t>(hidden), column = i % static_cast<size_t>(hidden);
      y[static_cast<size_t>(share.tokens[row] * hidden) + column] += share.weights[row] * result[i];
    }
  }
  context.store(0, y);
}

}  // namespace

void register_moe(OpRegistry& registry) {
  using enum Role;
  OpDef def{.domain = "com.microsoft",
            .op = "MoE",
            .operands = {kData, kData, kWeight, kBias, kWeight, kBias, kWeight, kBias},
            .optional_inputs = 3,
            .attributes = {{"activation_alpha", "FLOAT"},
                           {"activation_beta", "FLOAT"},
                           {"activation_type", "STRING"},
                           {"k", "INT"},
                           {"normalize_routing_weights", "INT"},
                           {"swiglu_fusion", "INT"},
                           {"swiglu_limit", "FLOAT"},
                           {"use_sparse_mixer", "INT"}},
            .traits = kContraction,
            .precision = PrecisionClass::kAlways,
            .infer = infer_moe,
            .reference = reference_moe<kReal>};
  registry.add(def);
  def.op = "QMoE";
  def.optional_inputs = 15;
  constexpr size_t kInputs = 21;
  def.operands = {kData,        kData, kWeight, kWeightScale, kBias, kWeight,
                  kWeightScale, kBias, kWeight, kWeightScale, kBias};
  def.operands.insert(def.operands.end(), {kWeightZeroPoint, kWeightZeroPoint, kWeightZeroPoint, kData});
  def.operands.resize(kInputs, kSetting);
  def.attributes.insert(def.attributes.end(), {{"accuracy_level", "INT"},
                                               {"block_size", "INT"},
                                               {"expert_weight_bits", "INT"},
                                               {"fc1_expert_weight_bits", "INT"},
                                               {"fc2_expert_weight_bits", "INT"},
                                               {"fc3_expert_weight_bits", "INT"},
                                               {"quant_type", "STRING"},
                                               {"weights_prepacked", "INT"}});
  def.reference = reference_moe<kInteger>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
