#include "vernier/backends/cpu/recurrent/recurrent_weights.h"

#include "vernier/backends/cpu/movement/indices.h"

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

const int32_t* lengths_of(const RecurrentPlan& plan, const KernelArguments& arguments) {
  if (plan.lengths < 0) return nullptr;
  const auto* lengths = static_cast<const int32_t*>(arguments.inputs[plan.lengths]);
  for (int64_t s = 0; s < plan.batch; ++s) {
    if (lengths[s] < 0 || lengths[s] > plan.steps)
      throw bad_input("a sequence of {} steps out of {}", lengths[s], plan.steps).at_node(plan.node);
  }
  return lengths;
}

std::vector<float> project_table(const RecurrentPlan& plan, const float* table, const float* packed) {
  const DirectionWeights weights(plan);
  const PackedShape& shape = weights.input;
  std::vector<float> result(static_cast<size_t>(plan.directions() * plan.words * shape.row_size()));
  for (int64_t d = 0; d < plan.directions(); ++d, packed += weights.size())
    multiply_panels({table, plan.inputs, plan.words, packed, packed + weights.bias_at(),
                     result.data() + d * plan.words * shape.row_size(), shape.row_size()},
                    shape, 0, shape.panels());
  return result;
}

void find_words(const RecurrentPlan& plan, const void* ids, int32_t* words) {
  const int64_t outer = plan.batch_first ? plan.batch : plan.steps,
                inner = plan.batch_first ? plan.steps : plan.batch;
  IndexCheck check;
  with_indices(plan.ids_type, ids, [&](const auto* given) {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < inner; ++j)
        *words++ = static_cast<int32_t>(
            check.resolve(given[plan.ids_swapped ? j * outer + i : i * inner + j], plan.words));
    }
  });
  check.check(plan.node);
}

}  // namespace vernier::cpu
