#include "vernier/ops/support/attention/padding_bias.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

void require_score_bias(const InferContext& context, size_t bias, const Shape& scores) {
  if (!context.has(bias) || !context.shape(bias)) return;
  const Shape& shape = *context.shape(bias);
  bool fits = shape.size() == scores.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
    fits = shape[axis].may_equal(scores[axis]) || (axis < 2 && shape[axis] == Dim(1));
  }
  if (!fits)
    throw bad_input("the bias of scores {} does not fit {}: a row for each query, an element for each key",
                    shape_text(shape), shape_text(scores));
}

PaddingBias::PaddingBias(const ReferenceContext& context, size_t mask, size_t bias, const HeadsLayout& q,
                         int64_t keys, int64_t past)
    : rows_(q.rows),
      keys_(keys),
      past_(past),
      causal_(integer_attribute(context.node(), "unidirectional") != 0),
      filter_(real_attribute(context.node(), "mask_filter_value")),
      batch_(q.batch) {
  if (context.has(mask)) read_mask(context, mask, q.batch);
  if (!context.has(bias)) return;
  const Dims& dims = context.dims(bias);
  const Dims scores{q.batch, q.heads, rows_, keys_};
  // Rows and keys do not broadcast, in ONNX Runtime either.
  if (dims.size() != 4 || dims[2] != rows_ || dims[3] != keys_ || broadcast(dims, scores) != scores)
    throw bad_input("attention_bias {} does not fit {}", dims_text(dims), dims_text(scores));
  bias_ = context.reals(bias);
  bias_strides_ = broadcast_strides(dims, scores);
}

void PaddingBias::read_mask(const ReferenceContext& context, size_t mask, int64_t batch) {
  const Dims& dims = context.dims(mask);
  if (dims == Dims{batch})
    form_ = MaskForm::kEnds;
  else if (dims == Dims{2 * batch})
    form_ = MaskForm::kEndsAndStarts;
  else if (dims == Dims{batch, keys_})
    form_ = MaskForm::kKeys;
  else if (dims == Dims{batch, rows_, keys_})
    form_ = MaskForm::kQueriesAndKeys;
  else
    throw unsupported("a mask {} for {} x {} queries and {} keys", dims_text(dims), batch, rows_, keys_);
  mask_ = context.int_list(mask);
}

bool PaddingBias::is_padding(int64_t entry, int64_t row, int64_t key) const {
  const auto at = [&](int64_t index) { return mask_[static_cast<size_t>(index)]; };
  switch (form_) {
    case MaskForm::kNone: return false;
    case MaskForm::kEnds: return key >= at(entry);
    case MaskForm::kEndsAndStarts: return key >= at(entry) || key < at(batch_ + entry);
    case MaskForm::kKeys: return at(entry * keys_ + key) == 0;
    case MaskForm::kQueriesAndKeys: return at((entry * rows_ + row) * keys_ + key) == 0;
  }
  return false;
}

void PaddingBias::add(int64_t entry, int64_t head, double* scores) const {
  const bool biased = !bias_strides_.empty();
  const double* bias = biased ? bias_.data() + entry * bias_strides_[0] + head * bias_strides_[1] : nullptr;
  for (int64_t row = 0; row < rows_; ++row, scores += keys_) {
    for (int64_t key = 0; key < keys_; ++key) {
      if (is_padding(entry, row, key)) scores[key] += filter_;
      if (biased) scores[key] += bias[row * bias_strides_[2] + key * bias_strides_[3]];
      if (causal_ && key > past_ + row) scores[key] = -std::numeric_limits<double>::infinity();
    }
  }
}

void store_padded_attention(ReferenceContext& context, const PaddedAttention& places, const Heads& q,
                            const Heads& k, const Heads& v, int64_t past) {
  const int64_t keys = k.layout.rows;
  const PaddingBias bias(context, places.mask, places.bias, q.layout, keys, past);
  ShownScores shown(context, places.scores, q.layout, keys, keys);
  const auto out = HeadsLayout::packed(q.layout.batch, q.layout.rows, q.layout.heads, v.layout.size);
  context.store(0, attend(context, q, k, v, attention_scale(context.node(), q.layout.size), out,
                          [&](int64_t entry, int64_t head, double* scores) {
                            bias.add(entry, head, scores);
                            shown.show(entry, head, scores);
                            masked_softmax(out.rows, keys, scores, context.roundings());
                          }));
  shown.store(context);
}

}  // namespace vernier::ops
