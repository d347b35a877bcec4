#include "vernier/backends/cpu/attention/attention_bias.h"

#include "vernier/backends/cpu/attention/attention_loops.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

KeyRange ScoreBias::reach(const KernelArguments& arguments, int64_t entry, int64_t query) const {
  const int64_t all = plan_.keys();
  KeyRange result{0, all};
  int64_t position = query + plan_.past_k.rows;
  const auto integer = [&](int input) { return static_cast<const int64_t*>(arguments.inputs[input])[entry]; };
  if (plan_.valid_keys >= 0) {
    const int64_t valid = integer(plan_.valid_keys);
    position = query + valid - plan_.q.rows;
    result.last = std::min(result.last, valid);
  }
  if (plan_.positions >= 0) position = query + integer(plan_.positions);
  if (plan_.mask.input >= 0) result.last = std::min(result.last, plan_.mask.keys);
  if (plan_.causal) result.last = std::min(result.last, position + 1);
  if (plan_.right >= 0) result.last = std::min(result.last, position + plan_.right + 1);
  if (plan_.left >= 0) result.first = std::max<int64_t>(0, position - plan_.left);
  return result;
}

int64_t ScoreBias::mask_at(const ScorePlace& place) const {
  const auto& strides = plan_.mask.strides;
  return place.entry * strides[0] + place.head * strides[1] + place.query * strides[2] +
         place.key * strides[3];
}

float ScoreBias::finish(const KernelArguments& arguments, const ScorePlace& place, int64_t keys,
                        float* scores, float* buffer) const {
  const float scale = prepare(arguments, place, keys, scores);
  const MaskPlace& mask = plan_.mask;
  if (mask.input < 0 || keys == 0) return finish_scores(scores, keys, {.scale = scale});
  const void* from = arguments.inputs[mask.input];
  const int64_t at = mask_at(place);
  const bool same = mask.strides[3] == 0;  // for all keys
  if (mask.element == ElementType::kBool) {
    const auto* allowed = static_cast<const uint8_t*>(from) + at;
    if (!same) return finish_scores(scores, keys, {.scale = scale, .allowed = allowed});
    if (*allowed != 0) return finish_scores(scores, keys, {.scale = scale});
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    std::fill_n(scores, keys, kNothing);
    return kNothing;
  }
  const float* bias = load_floats(mask.element, from, at, same ? 1 : keys, buffer);
  if (same) return finish_scores(scores, keys, {.scale = scale, .shift = *bias});
  return finish_scores(scores, keys, {.scale = scale, .bias = bias});
}

float ScoreBias::prepare(const KernelArguments& arguments, const ScorePlace& place, int64_t keys,
                         float* scores) const {
  if (plan_.softcap == 0 && plan_.padding.input < 0) return plan_.scale;
  affine_row(scores, keys, 0, plan_.scale, 0, scores);
  if (plan_.softcap != 0) {
    for (int64_t i = 0; i < keys; ++i) scores[i] = plan_.softcap * std::tanh(scores[i] / plan_.softcap);
  }
  if (plan_.padding.input >= 0)
    add_padding(static_cast<const int32_t*>(arguments.inputs[plan_.padding.input]), place, keys, scores);
  return 1;
}

void ScoreBias::add_padding(const int32_t* padding, const ScorePlace& place, int64_t keys,
                            float* scores) const {
  using Form = PaddingPlace::Form;
  const Form form = plan_.padding.form;
  const float filter = plan_.padding.filter;
  if (form == Form::kEnds || form == Form::kEndsAndStarts) {
    const int64_t end = padding[place.entry],
                  begin = form == Form::kEnds ? 0 : padding[plan_.q.batch + place.entry];
    for (int64_t i = 0; i < keys; ++i) {
      if (place.key + i >= end || place.key + i < begin) scores[i] += filter;
    }
    return;
  }
  const int64_t row = form == Form::kKeys ? place.entry : place.entry * plan_.q.rows + place.query;
  const int32_t* counts = padding + row * plan_.keys() + place.key;
  for (int64_t i = 0; i < keys; ++i) {
    if (counts[i] == 0) scores[i] += filter;
  }
}

}  // namespace vernier::cpu
