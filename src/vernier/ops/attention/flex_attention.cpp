// ai.onnx.preview FlexAttention: prob_mod(softmax(score_mod(scale * Q * K^T))) * V, where the modifiers are
// regions over all scores [batch, heads, queries, keys]; several query heads may share a head of K and V.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/attention.h"
#include "vernier/ops/support/nn/softmax.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kQ, kK, kV };

// The type of the scores that the regions see.
ElementType score_type(const Node& node, ElementType input) {
  const auto wanted = static_cast<ElementType>(node.attribute<int64_t>("softmax_precision", 0));
  if (is_float(wanted)) return wanted;
  return input == ElementType::kDouble ? input : ElementType::kFloat;
}

void infer_flex_attention(InferContext& context) {
  const auto &q = context.shape(kQ), &k = context.shape(kK), &v = context.shape(kV);
  context.set_output(0, context.element(kQ), std::nullopt);
  std::optional<Shape> scores;
  if (q && k && v) {
    if (q->size() != 4 || k->size() != 4 || v->size() != 4)
      throw bad_input("queries, keys and values must be of rank 4");
    context.set_output(0, context.element(kQ), Shape{(*q)[0], (*q)[1], (*q)[2], (*v)[3]});
    scores = Shape{(*q)[0], (*q)[1], (*q)[2], (*k)[2]};
  }
  ValueInfo info;
  info.type = ValueType::of(score_type(context.node(), context.element(kQ)), scores);
  for (const char* name : {"score_mod", "prob_mod"}) {
    if (const Graph* region = context.node().region(name)) context.infer_region(*region, {info});
  }
}

// Gives what the region `name` makes of all scores; the scores themselves where the node has no such region.
std::vector<double> modified(ReferenceContext& context, const char* name, const Dims& dims,
                             std::vector<double> scores) {
  const Graph* region = context.node().region(name);
  if (region == nullptr) return scores;
  const ElementType type =
      context.ideal() ? ElementType::kDouble : score_type(context.node(), context.declared(kQ));
  const auto results = context.run_region(*region, {Tensor::from_doubles(type, dims, scores)});
  if (results.size() != 1 || results[0].as_tensor().dims() != dims)
    throw bad_input("{} must give one tensor {}", name, dims_text(dims));
  return results[0].as_tensor().to_doubles();
}

void reference_flex_attention(ReferenceContext& context) {
  const Heads q = heads_of(context, kQ, 0), k = heads_of(context, kK, 0), v = heads_of(context, kV, 0);
  require_compatible(q, k, v);
  const HeadsLayout& query = q.layout;
  const Dims dims{query.batch, query.heads, query.rows, k.layout.rows};
  const int64_t count = query.rows * k.layout.rows;
  std::vector<double> scores(static_cast<size_t>(element_count(dims)));
  for (int64_t entry = 0; entry < query.batch; ++entry) {
    for (int64_t head = 0; head < query.heads; ++head) {
      attention_scores(q, k, entry, head, attention_scale(context.node(), query.size),
                       scores.data() + (entry * query.heads + head) * count);
    }
  }
  scores = modified(context, "score_mod", dims, std::move(scores));
  for (size_t row = 0; row < scores.size(); row += static_cast<size_t>(k.layout.rows)) {
    softmax(scores.data() + row, scores.data() + row, k.layout.rows, 1);
  }
  scores = modified(context, "prob_mod", dims, std::move(scores));
  const auto layout = HeadsLayout::separate(query.batch, query.heads, query.rows, v.layout.size);
  std::vector<double> y(static_cast<size_t>(layout.count()));
  for (int64_t entry = 0; entry < query.batch; ++entry) {
    for (int64_t head = 0; head < query.heads; ++head) {
      attention_values(scores.data() + (entry * query.heads + head) * count, v, entry, head, layout,
                       y.data());
    }
  }
  context.store(0, y);
}

double flops_flex_attention(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  if (inputs.size() <= kV || inputs[kV].size() != 4 || inputs[kK].size() != 4 || outputs.empty()) return 0;
  const double scores =
      static_cast<double>(outputs[0][0] * outputs[0][1] * outputs[0][2]) * static_cast<double>(inputs[kK][2]);
  return 2 * scores * static_cast<double>(inputs[kQ][3] + inputs[kV][3]);
}

}  // namespace

void register_flex_attention(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.preview",
                .op = "FlexAttention",
                .operands = {Role::kData, Role::kData, Role::kData},
                .attributes = {{"scale", "FLOAT"}, {"softmax_precision", "INT"}},
                .traits = kContraction | kNormalisation,
                .precision = PrecisionClass::kAlways,
                .infer = infer_flex_attention,
                .reference = reference_flex_attention,
                .flops = flops_flex_attention});
}

}  // namespace vernier::ops
