// Attention: softmax(softcap(scale * Q * K^T) + bias) * V by heads, several query heads sharing a head of K
// and V. Inputs are [batch, heads, length, size] or, with the numbers of heads given, [batch, length, heads *
// size]. The bias comes from attn_mask, is_causal, the number of valid keys in an external cache (since 24)
// and a sliding window (since 25). Rows that may attend nothing give zeros.
// vernier::Attention: what decomposed attention means. A row that may attend nothing gives NaN, as its
// softmax does; if it is `guarded`, such a row and any other whose weights are NaN give zeros.
#include <numeric>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/key_value_cache.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };
enum Output : size_t { kY, kPresentKey, kPresentValue, kScores };
// qk_matmul_output_mode: after which step the scores are shown.
enum Stage : int64_t { kProduct, kCapped, kBiased, kWeights };

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Heads, rows and size of an input, symbolically.
struct HeadShape {
  Dim batch, heads, rows, size;
};

HeadShape head_shape(const Shape& shape, int64_t heads) {
  if (shape.size() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  if (shape.size() != 3) throw bad_input("{} must be of rank 3 or 4", shape_text(shape));
  if (heads < 1) throw bad_input("inputs of rank 3 need the numbers of heads");
  return {shape[0], heads, shape[1], floordiv(shape[2], heads)};
}

// Kernels take the sizes of heads, of their past and of masks at their word.
void require_fitting_heads(const HeadShape& q, const HeadShape& k, const HeadShape& v) {
  if (!q.batch.may_equal(k.batch) || !k.batch.may_equal(v.batch) || !k.heads.may_equal(v.heads) ||
      !k.rows.may_equal(v.rows) || !q.size.may_equal(k.size))
    throw bad_input("queries, keys and values of {} heads and {} rows do not fit together",
                    shape_text({q.heads, k.heads, v.heads}), shape_text({q.rows, k.rows, v.rows}));
}

void require_fitting_past(const InferContext& context, size_t input, const HeadShape& heads) {
  if (!context.has(input) || !context.shape(input)) return;
  const Shape& past = *context.shape(input);
  if (past.size() != 4 || !past[0].may_equal(heads.batch) || !past[1].may_equal(heads.heads) ||
      !past[3].may_equal(heads.size))
    throw bad_input("a past {} does not fit {} heads of size {}", shape_text(past), heads.heads.text(),
                    heads.size.text());
}

void require_fitting_mask(const InferContext& context, const Shape& scores) {
  if (!context.has(kMask) || !context.shape(kMask)) return;
  const Shape& mask = *context.shape(kMask);
  bool fits = mask.size() <= scores.size();
  for (size_t i = 0; fits && i < mask.size(); ++i) {
    const Dim &size = mask[mask.size() - 1 - i], &wanted = scores[scores.size() - 1 - i];
    const bool is_short = i == 0 && context.node().version >= 24 && size.is_constant() &&
                          wanted.is_constant() && *size.constant() < *wanted.constant();
    fits = size == Dim(1) || size.may_equal(wanted) || is_short;
  }
  if (!fits) throw bad_input("attn_mask {} does not broadcast to {}", shape_text(mask), shape_text(scores));
}

void infer_attention(InferContext& context) {
  const ElementType key = context.element(kK), value = context.element(kV);
  for (const size_t output : {kY, kPresentKey, kScores})
    context.set_output(output, output == kY ? context.element(kQ) : key, std::nullopt);
  context.set_output(kPresentValue, value, std::nullopt);
  if (context.has(kPastKey) != context.has(kPastValue))
    throw bad_input("past_key and past_value belong together");
  if (context.has(kPastKey) && context.has(kValidKeys)) throw bad_input("nonpad_kv_seqlen excludes past_key");
  const auto &q_shape = context.shape(kQ), &k_shape = context.shape(kK), &v_shape = context.shape(kV);
  if (!q_shape || !k_shape || !v_shape) return;
  const auto kv_heads = integer_attribute(context.node(), "kv_num_heads");
  const auto q = head_shape(*q_shape, integer_attribute(context.node(), "q_num_heads"));
  const auto k = head_shape(*k_shape, kv_heads), v = head_shape(*v_shape, kv_heads);
  require_fitting_heads(q, k, v);
  require_fitting_past(context, kPastKey, k);
  require_fitting_past(context, kPastValue, v);
  if (context.has(kValidKeys)) require_elements(context, kValidKeys, q.batch);
  if (q_shape->size() == 4)
    context.set_output(kY, context.element(kQ), Shape{q.batch, q.heads, q.rows, v.size});
  else
    context.set_output(kY, context.element(kQ), Shape{q.batch, q.rows, q.heads * v.size});
  const auto past = past_rows(context, kPastKey);
  if (!past) return;
  const Dim total = *past + k.rows;
  require_fitting_mask(context, {q.batch, q.heads, q.rows, total});
  context.set_output(kPresentKey, key, Shape{k.batch, k.heads, total, k.size});
  context.set_output(kPresentValue, value, Shape{v.batch, v.heads, total, v.size});
  context.set_output(kScores, context.element(kQ), Shape{q.batch, q.heads, q.rows, total});
}

// The bias of every score: attn_mask, and minus infinity where a key may not be attended.
class Bias {
 public:
  Bias(const ReferenceContext& context, const HeadsLayout& q, const HeadsLayout& k)
      : rows_(q.rows),
        keys_(k.rows),
        causal_(integer_attribute(context.node(), "is_causal") != 0),
        left_(integer_attribute(context.node(), "left_window_size")),
        right_(integer_attribute(context.node(), "right_window_size")) {
    if (context.has(kPastKey)) past_ = context.dims(kPastKey)[2];
    if (context.has(kValidKeys)) {
      valid_keys_ = context.int_list(kValidKeys);
      if (static_cast<int64_t>(valid_keys_.size()) != q.batch)
        throw bad_input("nonpad_kv_seqlen must have {} elements", q.batch);
    }
    if (context.has(kMask)) read_mask(context, q);
  }

  // Adds the bias to the scores of one head. Where nothing may be attended, all scores become minus infinity.
  void add(int64_t entry, int64_t head, double* scores) const {
    const double* mask =
        has_mask_ ? mask_.data() + entry * mask_strides_[0] + head * mask_strides_[1] : nullptr;
    for (int64_t row = 0; row < rows_; ++row, scores += keys_) {
      for (int64_t key = 0; key < keys_; ++key) {
        double bias = allowed(entry, row, key) ? 0 : kForbidden;
        if (mask != nullptr)
          bias += key < mask_keys_ ? mask[row * mask_strides_[2] + key * mask_strides_[3]] : kForbidden;
        scores[key] = bias == kForbidden ? kForbidden : scores[key] + bias;
      }
    }
  }

 private:
  void read_mask(const ReferenceContext& context, const HeadsLayout& q) {
    has_mask_ = true;
    mask_ = context.reals(kMask);
    if (context.declared(kMask) == ElementType::kBool) {
      std::vector<double> bias(static_cast<size_t>(mask_.size()));
      for (int64_t i = 0; i < mask_.size(); ++i)
        bias[static_cast<size_t>(i)] = mask_[i] != 0 ? 0 : kForbidden;
      mask_ = Elements<double>(std::move(bias));
    }
    // Since 24 a mask may end before the keys do; what it does not reach is forbidden.
    const Dims& dims = context.dims(kMask);
    Dims target{q.batch, q.heads, rows_, keys_};
    const bool may_be_short = context.version() >= 24 && !dims.empty() && dims.back() < keys_;
    if (may_be_short) target[3] = dims.back();
    if (dims.size() > 4 || broadcast(dims, target) != target) {
      throw bad_input("attn_mask {} does not broadcast to {}", dims_text(dims), dims_text(target));
    }
    mask_keys_ = target[3];
    mask_strides_ = broadcast_strides(dims, target);
  }

  bool allowed(int64_t entry, int64_t row, int64_t key) const {
    int64_t position = row + past_;
    if (!valid_keys_.empty()) {
      const int64_t valid = valid_keys_[static_cast<size_t>(entry)];
      if (key >= valid) return false;
      position = row + valid - rows_;
    }
    if (causal_ && key > position) return false;
    return (left_ < 0 || key >= position - left_) && (right_ < 0 || key <= position + right_);
  }

  int64_t rows_, keys_, past_ = 0;
  bool causal_, has_mask_ = false;
  int64_t left_, right_;
  std::vector<int64_t> valid_keys_;
  Elements<double> mask_;
  int64_t mask_keys_ = 0;
  std::vector<int64_t> mask_strides_;
};

// Gives rows without weights those that the plain or the guarded softmax gives them.
void mend_rows(bool guarded, int64_t rows, int64_t keys, double* weights) {
  for (int64_t row = 0; row < rows; ++row, weights += keys) {
    const double sum = std::accumulate(weights, weights + keys, 0.0);
    if (guarded && std::isnan(sum)) std::fill_n(weights, keys, 0.0);
    if (!guarded && sum == 0) std::fill_n(weights, keys, std::numeric_limits<double>::quiet_NaN());
  }
}

void reference_attention(ReferenceContext& context) {
  const Heads q = heads_of(context, kQ, integer_attribute(context.node(), "q_num_heads"));
  const auto kv_heads = integer_attribute(context.node(), "kv_num_heads");
  const Heads k = append_to_cache(context, kPastKey, kPresentKey, heads_of(context, kK, kv_heads)),
              v = append_to_cache(context, kPastValue, kPresentValue, heads_of(context, kV, kv_heads));
  const Bias bias(context, q.layout, k.layout);
  const HeadsLayout& query = q.layout;
  const auto out = context.dims(kQ).size() == 4
                       ? HeadsLayout::separate(query.batch, query.heads, query.rows, v.layout.size)
                       : HeadsLayout::packed(query.batch, query.rows, query.heads, v.layout.size);
  const int64_t keys = k.layout.rows;
  const auto mode = context.attribute<int64_t>("qk_matmul_output_mode", kProduct);
  const double cap = real_attribute(context.node(), "softcap");
  const bool plain = context.node().domain == kInternalDomain,
             guarded = integer_attribute(context.node(), "guarded") != 0;
  ShownScores shown(context, kScores, query, keys, keys);
  const auto y = attend(context, q, k, v, attention_scale(context.node(), query.size), out,
                        [&](int64_t entry, int64_t head, double* scores) {
                          const auto show = [&](Stage stage) {
                            if (stage == mode) shown.show(entry, head, scores);
                          };
                          show(kProduct);
                          soft_cap(cap, query.rows * keys, scores);
                          show(kCapped);
                          bias.add(entry, head, scores);
                          show(kBiased);
                          masked_softmax(query.rows, keys, scores, context.roundings());
                          if (plain) mend_rows(guarded, query.rows, keys, scores);
                          show(kWeights);
                        });
  context.store(kY, y);
  shown.store(context);
}

// Two products with one column for each key.
double flops_attention(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  if (inputs.size() <= kV || inputs[kQ].size() < 3 || inputs[kQ].size() != inputs[kK].size()) return 0;
  const Dims& k = inputs[kK];
  const double past =
      inputs.size() > kPastKey && inputs[kPastKey].size() == 4 ? static_cast<double>(inputs[kPastKey][2]) : 0;
  const double keys = static_cast<double>(k[k.size() - 2]) + past;
  const bool packed = k.size() == 3;
  const double heads =
      static_cast<double>(packed ? node.attribute<int64_t>("q_num_heads", 1) : inputs[kQ][1]);
  const double kv_heads = static_cast<double>(packed ? node.attribute<int64_t>("kv_num_heads", 1) : 1);
  const double rows = static_cast<double>(inputs[kQ][packed ? 1 : 2] * inputs[kQ][0]);
  const double sizes = static_cast<double>(k.back() + inputs[kV].back()) / kv_heads;
  return outputs.empty() ? 0 : 2 * heads * rows * keys * sizes;
}

}  // namespace

void register_attention(OpRegistry& registry) {
  OpDef def{.op = "Attention",
            .operands = {Role::kData, Role::kData, Role::kData, Role::kMask, Role::kState, Role::kState,
                         Role::kLengths},
            .optional_inputs = 4,
            .max_outputs = 4,
            .attributes = {{"is_causal", "INT"},
                           {"kv_num_heads", "INT"},
                           {"left_window_size", "INT"},
                           {"q_num_heads", "INT"},
                           {"qk_matmul_output_mode", "INT"},
                           {"right_window_size", "INT"},
                           {"scale", "FLOAT"},
                           {"softcap", "FLOAT"},
                           {"softmax_precision", "INT"}},
            .traits = kContraction | kNormalisation,
            .precision = PrecisionClass::kAlways,
            .since = {23, 23},
            .infer = infer_attention,
            .reference = reference_attention,
            .flops = flops_attention};
  registry.add(def);
  def.domain = kInternalDomain;
  def.operands.resize(4);
  def.optional_inputs = 1;
  def.max_outputs = 1;
  def.attributes.push_back({"guarded", "INT"});
  registry.add(std::move(def));
}

}  // namespace vernier::ops
