#include "vernier/engine/engine_runner.h"

#include <chrono>

#include "vernier/engine/engine_device.h"
#include "vernier/engine/model_values.h"
#include "vernier/engine/quarantine.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/exec/trace_entry.h"

namespace vernier {

EngineRunner::EngineRunner(std::shared_ptr<EngineOnDemand> engine, std::string name)
    : source_(std::move(engine)), name_(std::move(name)) {}

EngineRunner::EngineRunner(std::shared_ptr<const Engine> engine, std::string name)
    : source_(std::make_shared<EngineOnDemand>(std::move(engine))), name_(std::move(name)) {}

Session& EngineRunner::session(const NamedData& inputs) {
  const auto& engine = source_->engine_for(inputs);
  if (!session_) session_.emplace(engine);
  return *session_;
}

std::map<std::string, std::string> EngineRunner::description() {
  std::map<std::string, std::string> said{{"engine", "vernier " + source_->engine()->device()},
                                          {"precision", summary(engine()->precision())}};
  std::vector<std::string> accelerators;
  for (const auto& driver : engine()->options().accelerators) accelerators.push_back(driver->fingerprint());
  if (!accelerators.empty()) said["accelerators"] = fmt::format("{}", fmt::join(accelerators, "; "));
  const auto& notes = engine()->precision().notes;
  if (!notes.empty()) said["notes"] = fmt::format("{}", fmt::join(notes, "; "));
  return said;
}

std::vector<double> EngineRunner::time(const NamedData& inputs, size_t runs) {
  // Inputs and outputs are bound once, as they are for other runners.
  Session& session = this->session(inputs);
  const auto bound = in_host_memory(*engine(), bind_inputs(engine()->graph(), inputs));
  std::vector<Datum> outputs;
  std::vector<double> seconds;
  for (size_t i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    session.run(bound, outputs, {});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

Trace EngineRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  Session& session = this->session(inputs);
  Trace trace;
  trace.runner = name_;
  const std::set<std::string> wanted(taps.begin(), taps.end());
  const ModelValues model(engine()->graph());
  Observer observer;
  std::set<std::string> outputs, shown;
  for (const Value* output : engine()->graph().outputs) outputs.insert(output->name);
  observer.after = [&](const ObservedStep& seen, int64_t) {
    for (size_t i = 0; i < seen.step().outputs.size(); ++i) {
      const Value* value = seen.value_made(i);
      // Several readers may compute one value of the model, each for itself.
      if (value == nullptr) continue;
      const std::string& name = model.name_of(*value);
      if (!wanted.contains(name) || outputs.contains(name) || !shown.insert(name).second) continue;
      TraceEntry entry = model.entry_of(*value, seen.output(i));
      // The memory of the run is used again: what is not set aside is copied.
      if (entry.datum.is_tensor() && !entry.datum.tensor.is_deferred()) entry.datum.tensor.mutable_raw();
      trace.entries.push_back(std::move(entry));
    }
  };
  auto results = session.run(inputs, taps.empty() ? nullptr : &observer);
  const auto plan = session.plan(inputs);
  for (size_t i = 0; i < plan->graph->outputs.size(); ++i) {
    const Value& output = *engine()->graph().outputs[i];
    if (!shown.insert(output.name).second) continue;  // ONNX lets a model list an output again
    TraceEntry entry = make_trace_entry(output, std::move(results.at(output.name)), true);
    entry.nodes = make_trace_entry(*plan->graph->outputs[i], {}, true).nodes;  // of its group, if it has one
    trace.entries.push_back(std::move(entry));
  }
  if (const auto fault = engine()->fault())
    trace.notes.push_back("a fault is injected on purpose: " + fault_text(*fault));
  for (const QuarantinedTactic& each : quarantined_tactics(*engine()))
    trace.notes.push_back("in quarantine: " + each.text());
  return trace;
}

}  // namespace vernier
