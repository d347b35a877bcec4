// com.microsoft MultiHeadAttention: attention of queries [batch, rows, heads * size] to keys and values of
// the same layout, of [batch, heads, rows, size] (then without bias), or packed with each other: keys and
// values [batch, rows, heads, 2, size], all three [batch, rows, heads, 3, size]. A bias of the projections is
// added first.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/key_value_cache.h"
#include "vernier/ops/support/attention/padding_bias.h"

namespace vernier::ops {

namespace {

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kCacheIndirection
};
enum Output : size_t { kOut, kPresentKey, kPresentValue, kScores };

// Rows and hidden size of an operand, symbolically.
struct Operand {
  Dim rows, hidden;
};

Operand operand_of(const Shape& shape, const Dim& heads) {
  switch (shape.size()) {
    case 3: return {shape[1], shape[2]};
    case 4: return {shape[2], heads * shape[3]};
    case 5: return {shape[1], heads * shape[4]};
    default: throw bad_input("an operand {}", shape_text(shape));
  }
}

void infer_multi_head_attention(InferContext& context) {
  const int64_t heads = head_count(context.node());
  const ElementType type = context.element(kQuery);
  for (const size_t output : {kOut, kPresentKey, kPresentValue, kScores})
    context.set_output(output, type, std::nullopt);
  const auto& query = context.shape(kQuery);
  const auto& key = context.has(kKey) ? context.shape(kKey) : query;
  const auto& value = context.has(kValue) ? context.shape(kValue) : key;
  if (!query || !key || !value) return;
  const Operand q = operand_of(*query, heads), k = operand_of(*key, heads), v = operand_of(*value, heads);
  context.set_output(kOut, type, Shape{(*query)[0], q.rows, v.hidden});
  const auto past = past_rows(context, kPastKey);
  if (!past) return;
  const Dim keys = *past + k.rows;
  context.set_output(kPresentKey, type, Shape{(*query)[0], heads, keys, floordiv(k.hidden, heads)});
  context.set_output(kPresentValue, type, Shape{(*query)[0], heads, keys, floordiv(v.hidden, heads)});
  const Shape scores{(*query)[0], heads, q.rows, keys};
  context.set_output(kScores, type, scores);
  require_score_bias(context, kScoreBias, scores);
}

// Member `index` of `count` that are packed in an input [batch, rows, heads, count, size].
Heads packed_member(const ReferenceContext& context, size_t input, int64_t heads, int64_t index,
                    int64_t count) {
  const Dims& dims = context.dims(input);
  if (dims.size() != 5 || dims[2] != heads || dims[3] != count)
    throw bad_input("a packed operand {}", dims_text(dims));
  const int64_t size = dims[4], row = heads * count * size;
  return {
      {dims[0], heads, dims[1], size, dims[1] * row, count * size, row}, context.reals(input), index * size};
}

struct Operands {
  Heads q, k, v;
};

Operands operands_of(const ReferenceContext& context, int64_t heads) {
  if (context.dims(kQuery).size() == 5) {
    return {packed_member(context, kQuery, heads, 0, 3), packed_member(context, kQuery, heads, 1, 3),
            packed_member(context, kQuery, heads, 2, 3)};
  }
  const Heads q = heads_of(context, kQuery, heads);
  if (context.dims(kKey).size() == 5)
    return {q, packed_member(context, kKey, heads, 0, 2), packed_member(context, kKey, heads, 1, 2)};
  return {q, heads_of(context, kKey, heads), heads_of(context, kValue, heads)};
}

void add_projection_bias(const ReferenceContext& context, Operands& operands) {
  if (!context.has(kBias)) return;
  const auto bias = context.reals(kBias);
  const auto hidden = [](const Heads& heads) { return heads.layout.heads * heads.layout.size; };
  const int64_t q = hidden(operands.q), k = hidden(operands.k), v = hidden(operands.v);
  if (bias.size() != q + k + v)
    throw bad_input("a bias of {} elements for hidden sizes {}, {} and {}", bias.size(), q, k, v);
  operands.q = add_to_rows(operands.q, bias.data());
  if (context.has(kKey) && context.dims(kKey).size() == 4) return;  // projected before
  operands.k = add_to_rows(operands.k, bias.data() + q);
  operands.v = add_to_rows(operands.v, bias.data() + q + k);
}

void reference_multi_head_attention(ReferenceContext& context) {
  if (context.has(kPastLength) || context.has(kCacheIndirection))
    throw unsupported("MultiHeadAttention with a shared buffer of past and present");
  const int64_t heads = head_count(context.node());
  auto operands = operands_of(context, heads);
  add_projection_bias(context, operands);
  const int64_t added = operands.k.layout.rows;
  operands.k = append_to_cache(context, kPastKey, kPresentKey, operands.k);
  operands.v = append_to_cache(context, kPastValue, kPresentValue, operands.v);
  store_padded_attention(context, {kMask, kScoreBias, kScores}, operands.q, operands.k, operands.v,
                         operands.k.layout.rows - added);
}

double flops_multi_head_attention(const Node&, const std::vector<Dims>& inputs,
                                  const std::vector<Dims>& outputs) {
  if (inputs.empty() || inputs[kQuery].size() < 3 || outputs.empty()) return 0;
  const Dims& key = inputs.size() > kKey && !inputs[kKey].empty() ? inputs[kKey] : inputs[kQuery];
  return 4 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(key[key.size() == 4 ? 2 : 1]);
}

}  // namespace

void register_multi_head_attention(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "MultiHeadAttention",
                .operands = {Role::kData, Role::kData, Role::kData, Role::kBias, Role::kMask, Role::kMask,
                             Role::kState, Role::kState, Role::kLengths, Role::kIndices},
                .optional_inputs = 9,
                .max_outputs = 4,
                .attributes = {{"mask_filter_value", "FLOAT"},
                               {"num_heads", "INT"},
                               {"scale", "FLOAT"},
                               {"unidirectional", "INT"}},
                .traits = kContraction | kNormalisation,
                .precision = PrecisionClass::kAlways,
                .infer = infer_multi_head_attention,
                .reference = reference_multi_head_attention,
                .flops = flops_multi_head_attention});
}

}  // namespace vernier::ops
