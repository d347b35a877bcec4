#include "vernier/backends/cpu/recurrent/recurrent_inputs.h"

#include "vernier/backends/cpu/movement/indices.h"

namespace vernier::cpu {

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
