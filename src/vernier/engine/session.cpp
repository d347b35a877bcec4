#include "vernier/engine/session.h"

#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/exec/device/host_device.h"

namespace vernier {

Session::Session(std::shared_ptr<const Engine> engine, int threads)
    : engine_(std::move(engine)),
      threads_(threads > 0 ? threads : thread_count()),
      program_(engine_->plans().program(threads_)),
      run_(program_, memory_) {
  engine_->files().require_unchanged();
  memory_.at_least(host_device(), engine_->plans().largest_arena());
}

Session::~Session() {
  try {
    settle();
  } catch (const std::exception&) {  // nobody asks any more
  }
}

std::shared_ptr<const Plan> Session::plan(const NamedData& inputs) {
  const ThreadLimit scope(threads_);
  return program_.plan(bind_inputs(engine_->graph(), inputs));
}

std::shared_ptr<const Plan> Session::plan_with_graph(const NamedData& inputs) {
  const ThreadLimit scope(threads_);
  return program_.plan_with_graph(bind_inputs(engine_->graph(), inputs));
}

NamedData Session::run(const NamedData& inputs, const Observer* observer) {
  const Graph& graph = engine_->graph();
  const auto bound = bind_inputs(graph, inputs);
  std::vector<Datum> outputs;
  run(bound, outputs, {.observer = observer});
  NamedData result;
  for (size_t i = 0; i < outputs.size(); ++i) result[graph.outputs[i]->name] = std::move(outputs[i]);
  return result;
}

void Session::run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options) {
  const ThreadLimit limit(threads_);
  engine_->files().guard([&] { run_.run(inputs, outputs, options); });
}

}  // namespace vernier
