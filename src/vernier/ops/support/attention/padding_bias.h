// The bias of scores in the attention operators of com.microsoft: an additive tensor, padding of keys,
// causality.
#pragma once

#include "vernier/ops/support/attention/attention.h"

namespace vernier::ops {

// Throws bad_input where the optional input `bias` is known not to be [batch or 1, heads or 1, rows, keys] of
// `scores`, [batch, heads, rows, keys]: rows and keys do not broadcast.
void require_score_bias(const InferContext& context, size_t bias, const Shape& scores);

class PaddingBias {
 public:
  // `mask` (optional) tells the keys that are padding, as integers: [batch] where the keys end, [2 * batch]
  // where they end and then where they begin, or flags [batch, keys] or [batch, queries, keys]. Padding gets
  // the attribute mask_filter_value added to its scores. `bias` (optional) is as require_score_bias says.
  // Keys behind the query, which is `past` keys further on than its row, are excluded if the attribute
  // `unidirectional` is set.
  PaddingBias(const ReferenceContext& context, size_t mask, size_t bias, const HeadsLayout& q, int64_t keys,
              int64_t past);

  void add(int64_t entry, int64_t head, double* scores) const;

 private:
  void read_mask(const ReferenceContext& context, size_t mask, int64_t batch);
  bool is_padding(int64_t entry, int64_t row, int64_t key) const;

  int64_t rows_, keys_, past_;
  bool causal_;
  double filter_;
  enum class MaskForm : uint8_t {
    kNone,
    kEnds,
    kEndsAndStarts,
    kKeys,
    kQueriesAndKeys
  } form_ = MaskForm::kNone;
  std::vector<int64_t> mask_;
  int64_t batch_;
  Elements<double> bias_;
  std::vector<int64_t> bias_strides_;
};

// Where an operator has what its scores get; `scores` is the output that shows them, before the softmax.
struct PaddedAttention {
  size_t mask, bias, scores;
};

// The attention with such a bias, behind `past` keys: stores output 0, [batch, rows, heads * size], and the
// scores if they are wanted.
void store_padded_attention(ReferenceContext& context, const PaddedAttention& places, const Heads& q,
                            const Heads& k, const Heads& v, int64_t past);

}  // namespace vernier::ops
