#include "vernier/engine/session.h"

#include "vernier/exec/bind_inputs.h"

namespace vernier {

Session::Session(std::shared_ptr<Engine> engine) : engine_(std::move(engine)), run_(engine_->program()) {}

std::shared_ptr<const Plan> Session::plan(const NamedData& inputs) {
  return engine_->program().plan(bind_inputs(engine_->graph(), inputs));
}

NamedData Session::run(const NamedData& inputs, const StepObserver* observer) {
  const Graph& graph = engine_->graph();
  const auto bound = bind_inputs(graph, inputs);
  auto outputs = run_.run(bound, observer);
  NamedData result;
  for (size_t i = 0; i < outputs.size(); ++i) result[graph.outputs[i]->name] = std::move(outputs[i]);
  return result;
}

}  // namespace vernier
