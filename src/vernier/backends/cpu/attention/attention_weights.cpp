#include "vernier/backends/cpu/attention/attention_weights.h"

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

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

void ScoreWeights::begin(const KernelArguments& arguments, int64_t head, RunningWeights& running) const {
  const float* sinks = plan_.sinks < 0 ? nullptr : static_cast<const float*>(arguments.inputs[plan_.sinks]);
  running.top.fill(sinks == nullptr ? kNothing : sinks[head]);
  running.sum.fill(sinks == nullptr ? 0 : 1);
}

KeyRange ScoreWeights::reach(const KernelArguments& arguments, int64_t entry, int64_t first_query,
                             int64_t rows) const {
  // Neither end goes back from a query to the next.
  return {bias_.reach(arguments, entry, first_query).first,
          bias_.reach(arguments, entry, first_query + rows - 1).last};
}

KeyRange ScoreWeights::span(const KernelArguments& arguments, const ScorePlace& place, int64_t keys) const {
  const KeyRange reach = bias_.reach(arguments, place.entry, place.query);
  const int64_t first = std::clamp<int64_t>(reach.first - place.key, 0, keys);
  return {first, std::clamp<int64_t>(reach.last - place.key, first, keys)};
}

bool ScoreWeights::raise(float largest, int64_t row, RunningWeights& running) {
  const auto index = static_cast<size_t>(row);
  const float before = running.top[index];
  const float top = before >= largest || std::isnan(before) ? before : largest;
  if (!std::isfinite(top)) {  // nothing to attend here; or what is no number makes the whole row none
    if (top != kNothing) running.sum[index] = std::numeric_limits<float>::quiet_NaN();
    return false;
  }
  running.top[index] = top;
  return true;
}

float ScoreWeights::add(float sum, float before, int64_t row, RunningWeights& running) {
  const auto index = static_cast<size_t>(row);
  const float top = running.top[index];
  const float shrink = top == before || before == kNothing ? 1 : std::exp(before - top);
  running.sum[index] = running.sum[index] * shrink + sum;
  return shrink;
}

void ScoreWeights::weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores,
                         float* buffer, RunningWeights& running, float* shrinks) const {
  for (int64_t row = 0; row < rows.count; ++row, scores += rows.stride)
    shrinks[row] = weigh(arguments, rows.row(row), rows.keys, scores, buffer, row, running);
}

float ScoreWeights::weigh(const KernelArguments& arguments, const ScorePlace& place, int64_t keys,
                          float* scores, float* buffer, int64_t row, RunningWeights& running) const {
  const KeyRange span = this->span(arguments, place, keys);
  const int64_t count = span.last - span.first;
  std::fill(scores, scores + span.first, 0.0F);
  std::fill(scores + span.last, scores + keys, 0.0F);
  scores += span.first;
  const float before = running.top[static_cast<size_t>(row)];
  const float largest = bias_.finish(
      arguments, {place.entry, place.head, place.query, place.key + span.first}, count, scores, buffer);
  if (!raise(largest, row, running)) {
    std::fill_n(scores, count, 0.0F);
    return 1;
  }
  const float sum = exp_row(scores, count, running.top[static_cast<size_t>(row)], scores);
  return add(sum, before, row, running);
}

bool ScoreWeights::gives_zeros(float weight) const {
  return (weight == 0 && plan_.without != WithoutWeights::kNan) ||
         (std::isnan(weight) && plan_.without == WithoutWeights::kZeros);
}

void ScoreWeights::store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query,
                         float* sums, float weight) const {
  const int64_t at = plan_.out.at(entry, head) + query * plan_.out.row_stride;
  float* to = float_target(plan_.element, arguments.outputs[0], at, sums);
  if (gives_zeros(weight))
    std::fill_n(to, plan_.v.size, 0.0F);
  else
    affine_row(sums, plan_.v.size, 0, 1 / weight, 0, to);
  store_floats(plan_.element, to, plan_.v.size, arguments.outputs[0], at);
}

}  // namespace vernier::cpu
