#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

ReproCase with_outputs(const ReproCase& whole, const std::vector<std::string>& names) {
  ReproCase candidate = copy(whole);
  Graph& graph = *candidate.model.graph;
  graph.outputs.clear();
  for (const std::string& name : names) {
    if (Value* value = find_value(graph, name)) graph.outputs.push_back(value);
  }
  return candidate;
}

}  // namespace

void cut_outputs(Shrinking& shrinking) {
  const size_t outputs = shrinking.best().model.graph->outputs.size();
  if (outputs < 2 || shrinking.is_over()) return;
  shrinking.begin("outputs");
  const auto wrong = shrinking.judgement().symptom.outputs;
  std::vector<std::string> names = wrong;
  if (names.empty()) {
    for (const Value* output : shrinking.best().model.graph->outputs) names.push_back(output->name);
  }
  for (const std::string& name : names) {
    if (shrinking.offer(with_outputs(shrinking.best(), {name}))) return;
  }
  if (wrong.size() > 1 && wrong.size() < outputs) shrinking.offer(with_outputs(shrinking.best(), wrong));
}

}  // namespace vernier
