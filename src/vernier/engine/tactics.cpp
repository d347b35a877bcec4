#include "vernier/engine/tactics.h"

#include "vernier/backends/cpu/environment.h"
#include "vernier/backends/reference/interpreter.h"

namespace vernier {

std::vector<Tensor> outputs_by_reference(const Model& model, const std::vector<Tensor>& inputs) {
  NamedData data;
  for (size_t i = 0; i < inputs.size(); ++i) data[model.graph->inputs[i]->name] = inputs[i];
  std::vector<Tensor> outputs;
  for (Datum& output : run_reference(model, data).outputs) outputs.push_back(std::move(output.tensor));
  return outputs;
}

TuneOptions with_names(TuneOptions options) {
  if (!options.approximate) options.without.merge(cpu::approximate_tactics());
  return options;
}

}  // namespace vernier
