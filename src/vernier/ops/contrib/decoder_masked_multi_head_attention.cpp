// com.microsoft DecoderMaskedMultiHeadAttention: the attention of one new row of each batch entry. To itself:
// keys and values [batch, 1, hidden] go behind the past; the cache may be a larger buffer, of which the first
// past_sequence_length rows count. Across: keys and values are [batch, heads, rows, size] and all there is.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/key_value_cache.h"
#include "vernier/ops/support/attention/padding_bias.h"
#include "vernier/ops/support/optional_reals.h"

namespace vernier::ops {

namespace {

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kMask,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kBeamWidth,
  kCacheIndirection,
  kBias
};
enum Output : size_t { kOut, kPresentKey, kPresentValue, kScores };

bool shares_buffer(const Node& node) {
  return integer_attribute(node, "past_present_share_buffer") != 0;
}

void infer_decoder_masked_multi_head_attention(InferContext& context) {
  const int64_t heads = head_count(context.node());
  const ElementType type = context.element(kQuery);
  for (const size_t output : {kOut, kPresentKey, kPresentValue, kScores})
    context.set_output(output, type, std::nullopt);
  const auto &query = context.shape(kQuery), &key = context.shape(kKey), &value = context.shape(kValue);
  if (!query || !key || !value) return;
  const bool across = key->size() == 4;
  if (query->size() != 3 || (key->size() != 3 && !across) || value->size() != key->size())
    throw bad_input("query {}, key {} and value {}", shape_text(*query), shape_text(*key),
                    shape_text(*value));
  const Dim size = across ? (*value)[3] : floordiv((*value)[2], heads), batch = (*query)[0];
  context.set_output(kOut, type, Shape{batch, (*query)[1], size * heads});
  const auto past = past_rows(context, kPastKey);
  if (!past) return;
  const Dim keys = across ? (*key)[2] : shares_buffer(context.node()) ? *past : *past + 1;
  context.set_output(kPresentKey, type, Shape{batch, heads, keys, floordiv((*query)[2], heads)});
  context.set_output(kPresentValue, type, Shape{batch, heads, keys, size});
  const Dim shown = !across && shares_buffer(context.node()) ? context.fresh("total_sequence_length") : keys;
  const Shape scores{batch, heads, (*query)[1], shown};
  context.set_output(kScores, type, scores);
  require_score_bias(context, kScoreBias, scores);
}

// An input that is a projection, with its part of the bias.
Heads projected(const ReferenceContext& context, size_t input, const Elements<double>& bias, int64_t first) {
  const Heads heads = heads_of(context, input, head_count(context.node()));
  return context.has(kBias) ? add_to_rows(heads, bias.data() + first) : heads;
}

struct Operands {
  Heads q, k, v;
};

Operands across_operands(const ReferenceContext& context) {
  const int64_t hidden = context.dims(kQuery)[2];
  const auto bias = optional_reals(context, kBias, hidden);
  return {projected(context, kQuery, bias, 0), heads_of(context, kKey, 0), heads_of(context, kValue, 0)};
}

// The rows that count of the new cache.
Operands own_operands(ReferenceContext& context) {
  const int64_t hidden = context.dims(kQuery)[2], value_hidden = context.dims(kValue)[2];
  const auto bias = optional_reals(context, kBias, 2 * hidden + value_hidden);
  const Heads q = projected(context, kQuery, bias, 0);
  const Heads k = projected(context, kKey, bias, hidden), v = projected(context, kValue, bias, 2 * hidden);
  if (!shares_buffer(context.node())) {
    return {q, append_to_cache(context, kPastKey, kPresentKey, k),
            append_to_cache(context, kPastValue, kPresentValue, v)};
  }
  const int64_t past = context.integer(kPastLength, 0);
  Operands result{q, write_to_cache(context, kPastKey, kPresentKey, k, past),
                  write_to_cache(context, kPastValue, kPresentValue, v, past)};
  result.k.layout.rows = result.v.layout.rows = past + 1;
  return result;
}

void reference_decoder_masked_multi_head_attention(ReferenceContext& context) {
  if (context.has(kCacheIndirection) && context.integer(kBeamWidth, 1) > 1)
    throw unsupported("{} with beams", context.node().op);
  const bool across = context.dims(kKey).size() == 4;
  const auto [q, k, v] = across ? across_operands(context) : own_operands(context);
  store_padded_attention(context, {kMask, kScoreBias, kScores}, q, k, v, k.layout.rows - q.layout.rows);
}

}  // namespace

void register_decoder_masked_multi_head_attention(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "DecoderMaskedMultiHeadAttention",
                .operands = {Role::kData, Role::kData, Role::kData, Role::kMask, Role::kMask, Role::kState,
                             Role::kState, Role::kLengths, Role::kSizes, Role::kIndices, Role::kBias},
                .optional_inputs = 8,
                .max_outputs = 4,
                .attributes = {{"mask_filter_value", "FLOAT"},
                               {"num_heads", "INT"},
                               {"output_qk", "INT"},
                               {"past_present_share_buffer", "INT"},
                               {"scale", "FLOAT"}},
                .traits = kContraction | kNormalisation,
                .precision = PrecisionClass::kAlways,
                .infer = infer_decoder_masked_multi_head_attention,
                .reference = reference_decoder_masked_multi_head_attention});
}

}  // namespace vernier::ops
