#include "vernier/backends/cpu/attention/attention_weights.h"

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

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
