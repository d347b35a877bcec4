// com.microsoft GroupQueryAttention: causal attention with a cache of keys and values [batch, kv_heads,
// length, size]; several query heads share a head of keys and values. seqlens_k gives, for each batch entry,
// the number of keys less one, new ones included; total_sequence_length their maximum. New rows go behind the
// past ones; where all keys are new (a prompt) they begin at 0. Queries, keys and values may be packed in one
// tensor. Options: rotary embedding of queries and keys, a window of the last keys, soft cap, a sink in the
// softmax, RMS normalisation of queries and keys.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/contrib/operands.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/key_value_cache.h"
#include "vernier/ops/support/attention/rotary.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/optional_reals.h"

namespace vernier::ops {

namespace {

using namespace group_query;

void infer_group_query_attention(InferContext& context) {
  const HeadCounts heads(context.node(), "num_heads");
  const ElementType type = context.element(kQuery),
                    cache = context.has(kPastKey) ? context.element(kPastKey) : type;
  for (const size_t output : {kOut, kScores}) context.set_output(output, type, std::nullopt);
  for (const size_t output : {kPresentKey, kPresentValue}) context.set_output(output, cache, std::nullopt);
  const auto& query = context.shape(kQuery);
  if (!query) return;
  if (query->size() != 3) throw bad_input("query {} must be of rank 3", shape_text(*query));
  const Dim size = floordiv((*query)[2], context.has(kKey) ? heads.query : heads.packed());
  context.set_output(kOut, type, Shape{(*query)[0], (*query)[1], size * Dim(heads.query)});
  const auto& total = context.dims(kTotal);
  Dim keys = total && total->size() == 1 ? (*total)[0] : context.fresh("total_sequence_length");
  context.set_output(kScores, type, Shape{(*query)[0], heads.query, (*query)[1], keys});
  const auto past = past_rows(context, kPastKey);
  if (!past) return;
  keys = max(*past, keys);
  for (const size_t output : {kPresentKey, kPresentValue})
    context.set_output(output, cache, Shape{(*query)[0], heads.shared, keys, size});
}

void require_supported(const ReferenceContext& context) {
  for (const char* type : {"k_quant_type", "v_quant_type"}) {
    if (context.attribute<std::string>(type, "NONE") != "NONE")
      throw unsupported("GroupQueryAttention with a quantized cache");
  }
  if (integer_attribute(context.node(), "sliding_window_cache") != 0)
    throw unsupported("GroupQueryAttention with sliding_window_cache");
}

// Part `first` .. `first + count` of the heads of a packed query, or an input of its own.
Heads operand(const ReferenceContext& context, const HeadCounts& heads, size_t input, int64_t first,
              int64_t count) {
  if (context.has(kKey)) return heads_of(context, input, count);
  Heads packed = heads_of(context, kQuery, heads.packed());
  packed.layout.heads = count;
  packed.offset = first * packed.layout.size;
  return packed;
}

// Every row divided by its root mean square, times the weights.
Heads normalised(const ReferenceContext& context, size_t weight_input, const Heads& heads) {
  const HeadsLayout& in = heads.layout;
  const auto weights = context.reals(weight_input);
  if (weights.size() != in.size) throw bad_input("{} weights for heads of size {}", weights.size(), in.size);
  auto values = separate_heads(heads);
  const double epsilon = context.attribute<float>("qk_norm_epsilon", 1e-6f);
  for (double* row = values.data(); row != values.data() + values.size(); row += in.size) {
    double squares = 0;
    for (int64_t i = 0; i < in.size; ++i) squares += row[i] * row[i];
    const double factor = 1 / std::sqrt(squares / static_cast<double>(in.size) + epsilon);
    for (int64_t i = 0; i < in.size; ++i) row[i] *= factor * weights[i];
  }
  return {HeadsLayout::separate(in.batch, in.heads, in.rows, in.size), Elements<double>(std::move(values))};
}

Heads rotated(const ReferenceContext& context, const CachePlacement& placement, const Heads& heads) {
  const HeadsLayout& in = heads.layout;
  std::vector<int64_t> positions;
  for (const int64_t past : placement.past) {
    for (int64_t row = 0; row < in.rows; ++row) positions.push_back(past + row);
  }
  if (context.has(kPositions)) positions = context.int_list(kPositions);
  const auto layout = HeadsLayout::separate(in.batch, in.heads, in.rows, in.size);
  const bool interleaved = integer_attribute(context.node(), "rotary_interleaved") != 0;
  return {layout, Elements<double>(rotate_heads(RotaryCache(context, kCosines, kSines), positions,
                                                interleaved, heads, layout))};
}

// The bias of scores, causality and the window.
class Bias {
 public:
  Bias(const ReferenceContext& context, const CachePlacement& placement, const HeadsLayout& q)
      : placement_(placement),
        causal_(integer_attribute(context.node(), "causal") != 0),
        window_(integer_attribute(context.node(), "local_window_size")) {
    if (!context.has(kScoreBias)) return;
    const Dims& dims = context.dims(kScoreBias);
    if (dims.size() != 4) throw bad_input("attention_bias {} must be of rank 4", dims_text(dims));
    const Dims scores{q.batch, q.heads, q.rows, dims[3]};
    if (dims[2] != q.rows || broadcast(dims, scores) != scores)
      throw bad_input("attention_bias {} does not fit {}", dims_text(dims), dims_text(scores));
    bias_ = context.reals(kScoreBias);
    columns_ = dims[3];
    strides_ = broadcast_strides(dims, scores);
  }

  void add(int64_t entry, int64_t head, double* scores) const {
    for (int64_t row = 0; row < placement_.rows; ++row, scores += placement_.keys) {
      for (int64_t key = 0; key < placement_.keys; ++key) {
        if (!allowed(entry, row, key))
          scores[key] = -std::numeric_limits<double>::infinity();
        else if (key < columns_)
          scores[key] +=
              bias_[entry * strides_[0] + head * strides_[1] + row * strides_[2] + key * strides_[3]];
      }
    }
  }

 private:
  bool allowed(int64_t entry, int64_t row, int64_t key) const {
    const auto at = static_cast<size_t>(entry);
    const int64_t position = placement_.past[at] + row;
    if (key >= placement_.total[at]) return false;
    return !causal_ || (key <= position && (window_ < 1 || key > position - window_));
  }

  const CachePlacement& placement_;
  bool causal_;
  int64_t window_, columns_ = 0;
  Elements<double> bias_;
  std::vector<int64_t> strides_;
};

// Says how qk_output shows the scores: as they enter the softmax, or as weights.
enum ShownStage : int64_t { kScoresShown = 1, kWeightsShown = 2 };

void reference_group_query_attention(ReferenceContext& context) {
  require_supported(context);
  const HeadCounts counts(context.node(), "num_heads");
  Heads q = operand(context, counts, kQuery, 0, counts.query);
  Heads k = operand(context, counts, kKey, counts.query, counts.shared);
  const Heads v = operand(context, counts, kValue, counts.query + counts.shared, counts.shared);
  const CachePlacement placement(q.layout, context.has(kPastKey) ? context.dims(kPastKey)[2] : 0,
                                 context.int_list(kLastKeys), context.integer(kTotal, 0));
  if (context.has(kQueryNorm)) {
    q = normalised(context, kQueryNorm, q);
    k = normalised(context, kKeyNorm, k);
  }
  if (integer_attribute(context.node(), "do_rotary") != 0) {
    q = rotated(context, placement, q);
    k = rotated(context, placement, k);
  }
  const Heads keys = placement.store_present(context, kPastKey, kPresentKey, k);
  const Heads values = placement.store_present(context, kPastValue, kPresentValue, v);

  const Bias bias(context, placement, q.layout);
  const auto sinks = optional_reals(context, kSink, counts.query);
  const bool has_sink = context.has(kSink) || integer_attribute(context.node(), "smooth_softmax") != 0;
  const double cap = real_attribute(context.node(), "softcap");
  const auto stage =
      context.attribute<int64_t>("qk_output", 0) == kWeightsShown ? kWeightsShown : kScoresShown;
  // Columns behind the longest sequence are not shown.
  ShownScores shown(context, kScores, q.layout, placement.keys,
                    std::min(placement.keys, context.integer(kTotal, 0)));
  const auto out = HeadsLayout::packed(q.layout.batch, q.layout.rows, counts.query, v.layout.size);
  const auto y = attend(context, q, keys, values, attention_scale(context.node(), q.layout.size), out,
                        [&](int64_t entry, int64_t head, double* scores) {
                          soft_cap(cap, q.layout.rows * placement.keys, scores);
                          bias.add(entry, head, scores);
                          if (stage == kScoresShown) shown.show(entry, head, scores);
                          masked_softmax(q.layout.rows, placement.keys, scores, context.roundings(),
                                         has_sink ? std::optional(sinks[head]) : std::nullopt);
                          if (stage == kWeightsShown) shown.show(entry, head, scores);
                        });
  context.store(kOut, y);
  // Excluded keys are shown as 0.
  std::replace(shown.values().begin(), shown.values().end(), -std::numeric_limits<double>::infinity(), 0.0);
  shown.store(context);
}

// Two products with one column for each key of the present.
double flops_group_query_attention(const Node&, const std::vector<Dims>&, const std::vector<Dims>& outputs) {
  if (outputs.size() <= kPresentKey || outputs[kPresentKey].size() != 4) return 0;
  return 4 * static_cast<double>(element_count(outputs[kOut])) * static_cast<double>(outputs[kPresentKey][2]);
}

}  // namespace

void register_group_query_attention(OpRegistry& registry) {
  registry.add(
      {.domain = "com.microsoft",
       .op = "GroupQueryAttention",
       .operands = {Role::kData, Role::kData, Role::kData, Role::kState, Role::kState, Role::kLengths,
                    Role::kSizes, Role::kData, Role::kData, Role::kIndices, Role::kMask, Role::kData,
                    Role::kSetting, Role::kSetting, Role::kGain, Role::kGain},
       .optional_inputs = 9,
       .max_outputs = 4,
       .attributes = {{"causal", "INT"},
                      {"do_rotary", "INT"},
                      {"k_quant_type", "STRING"},
                      {"kv_cache_bit_width", "INT"},
                      {"kv_num_heads", "INT"},
                      {"local_window_size", "INT"},
                      {"num_heads", "INT"},
                      {"qk_norm_epsilon", "FLOAT"},
                      {"qk_output", "INT"},
                      {"rotary_interleaved", "INT"},
                      {"scale", "FLOAT"},
                      {"sliding_window_cache", "INT"},
                      {"smooth_softmax", "INT"},
                      {"softcap", "FLOAT"},
                      {"v_quant_type", "STRING"}},
       .traits = kContraction | kNormalisation,
       .precision = PrecisionClass::kAlways,
       .infer = infer_group_query_attention,
       .reference = reference_group_query_attention,
       .flops = flops_group_query_attention});
}

}  // namespace vernier::ops
