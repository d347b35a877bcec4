#include "vernier/backends/cpu/recurrent/recurrent_weights.h"

namespace vernier::cpu {

DirectionWeights::DirectionWeights(const RecurrentPlan& plan)
    : input{plan.gates * plan.hidden, plan.inputs},
      recurrent{plan.gates * plan.hidden, plan.hidden},
      hidden(plan.hidden) {
  if (plan.kind == CellKind::kGru && !plan.linear_before_reset) {
    recurrent.columns = 2 * hidden;
    candidate = {hidden, hidden};
  }
}

void RecurrentTiles::prepare() const {
  for (const auto* products : {&input, &recurrent, &candidate}) {
    for (const TileRows& product : *products) product.prepare();
  }
}

bool RecurrentTiles::are_prepared() const {
  bool all = true;
  for (const auto* products : {&input, &recurrent, &candidate}) {
    for (const TileRows& product : *products) all = all && product.is_prepared();
  }
  return all;
}

int64_t wide_weights(const RecurrentPlan& plan) {
  if (!is_narrow(plan.element)) return 0;
  return plan.gates * plan.hidden * std::max<int64_t>({plan.inputs, plan.hidden, 2});
}

void pack_recurrent(const RecurrentPlan& plan, const void* w, const void* r, const void* b, float* wide,
                    float* packed) {
  const DirectionWeights weights(plan);
  const bool late_bias = plan.kind == CellKind::kGru && plan.linear_before_reset;
  const int64_t width = weights.input.columns, h = plan.hidden, size = width * plan.inputs;
  for (int64_t d = 0; d < plan.directions(); ++d, packed += weights.size()) {
    pack_panels(load_floats(plan.element, w, d * size, size, wide), weights.input, plan.inputs, 1, packed);
    const float* recurrent = load_floats(plan.element, r, d * width * h, width * h, wide);
    pack_panels(recurrent, weights.recurrent, h, 1, packed + weights.recurrent_at());
    if (weights.candidate.columns > 0)
      pack_panels(recurrent + 2 * h * h, weights.candidate, h, 1, packed + weights.candidate_at());
    float* bias = packed + weights.bias_at();
    float* late = packed + weights.late_bias_at();
    std::fill(bias, packed + weights.size(), 0.0F);
    if (b == nullptr) continue;
    const float* biases = load_floats(plan.element, b, d * 2 * width, 2 * width, wide);
    const int64_t early = late_bias ? 2 * h : width;  // those of the state that meet nothing else
    for (int64_t i = 0; i < width; ++i) bias[i] = biases[i] + (i < early ? biases[width + i] : 0.0F);
    std::copy_n(biases + width + (width - h), h, late);
  }
}

}  // namespace vernier::cpu
