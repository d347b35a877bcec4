#include "vernier/backends/cpu/kernels/attention_weights.h"

#include "vernier/backends/cpu/kernels/float_storage.h"

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
  KeyRange all{plan_.keys(), 0};
  for (int64_t row = 0; row < rows; ++row) {
    const KeyRange reach = bias_.reach(arguments, entry, first_query + row);
    all.first = std::min(all.first, reach.first);
    all.last = std::max(all.last, reach.last);
  }
  return all;
}

float ScoreWeights::weigh(const KernelArguments& arguments, const ScorePlace& place, int64_t keys,
                          float* scores, float* buffer, int64_t row, RunningWeights& running) const {
  const auto index = static_cast<size_t>(row);
  const KeyRange reach = bias_.reach(arguments, place.entry, place.query);
  const int64_t begin = std::clamp<int64_t>(reach.first - place.key, 0, keys),
                end = std::clamp<int64_t>(reach.last - place.key, begin, keys);
  std::fill(scores, scores + begin, 0.0F);
  std::fill(scores + end, scores + keys, 0.0F);
  const float before = running.top[index];
  const float here = bias_.finish(arguments, {place.entry, place.head, place.query, place.key + begin},
                                  end - begin, scores + begin, buffer);
  const float top = before >= here || std::isnan(before) ? before : here;
  if (!std::isfinite(top)) {  // nothing to attend here; or what is no number makes the whole row none
    if (top != kNothing) running.sum[index] = std::numeric_limits<float>::quiet_NaN();
    std::fill(scores + begin, scores + end, 0.0F);
    return 1;
  }
  const float sum = exp_row(scores + begin, end - begin, top, scores + begin);
  const float shrink = top == before || before == kNothing ? 1 : std::exp(before - top);
  running.sum[index] = running.sum[index] * shrink + sum;
  running.top[index] = top;
  return shrink;
}

void ScoreWeights::store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query,
                         float* sums, float weight) const {
  const int64_t at = plan_.out.at(entry, head) + query * plan_.out.row_stride;
  float* to = float_target(plan_.element, arguments.outputs[0], at, sums);
  const bool zeros = (weight == 0 && plan_.without != WithoutWeights::kNan) ||
                     (std::isnan(weight) && plan_.without == WithoutWeights::kZeros);
  if (zeros)
    std::fill_n(to, plan_.v.size, 0.0F);
  else
    affine_row(sums, plan_.v.size, 0, 1 / weight, 0, to);
  store_floats(plan_.element, to, plan_.v.size, arguments.outputs[0], at);
}

}  // namespace vernier::cpu
