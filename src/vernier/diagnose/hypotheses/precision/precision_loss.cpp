#include "vernier/diagnose/hypotheses/precision/precision_loss.h"

namespace vernier {

Tensors results_with(const Member& member, const PrecisionLoss& loss) {
  Tensors results = member.outputs();
  if (loss.operands != 0) {
    Tensors inputs = member.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (loss.holds(i)) inputs[i] = rounded(inputs[i], loss.format);
    }
    results = member.with_inputs(std::move(inputs));
  }
  return loss.results ? rounded(results, loss.format) : results;
}

}  // namespace vernier
