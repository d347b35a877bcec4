#include "vernier/passes/attention/attention_match.h"

namespace vernier {

namespace {

// Whether it holds squares of flags or numbers: one for all entries and heads, or for each.
bool is_square(const Value* value, const Shape& scores) {
  if (!value->is_constant() || scores[2] != scores[3]) return false;
  const Dims& dims = value->constant->dims();
  return dims.size() >= 2 && Dim(dims.back()) == scores[3] && Dim(dims[dims.size() - 2]) == scores[2];
}

}  // namespace

bool is_causal(const AttentionMatch::Edit& edit, const Shape& scores, double most) {
  const Value* mask = edit.condition != nullptr ? edit.condition : edit.mask;
  const bool chooses_too_much =
      edit.condition != nullptr && edit.mask != nullptr && *scalar_of(edit.mask) > most;
  if (!is_square(mask, scores) || chooses_too_much) return false;
  const auto values = mask->constant->to_doubles();
  const bool adds = edit.condition == nullptr, negated = edit.negated;
  const int64_t keys = *scores[3].constant();
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) % (keys * keys);
    const bool allowed = adds ? values[i] == 0 : (values[i] != 0) != negated;
    const bool forbidden = adds ? values[i] <= most : !allowed;
    if (at % keys <= at / keys ? !allowed : !forbidden) return false;
  }
  return true;
}

}  // namespace vernier
