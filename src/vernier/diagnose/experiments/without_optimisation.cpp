#include "vernier/diagnose/experiments/without_optimisation.h"

#include "vernier/diagnose/causes/distance.h"

namespace vernier {

namespace {

NamedData outputs_of_run(Runner& runner, const NamedData& inputs) {
  NamedData outputs;
  for (TraceEntry& entry : runner.run(inputs, {}).entries) {
    if (entry.is_output) outputs[entry.value] = std::move(entry.datum);
  }
  return outputs;
}

}  // namespace

void blame_optimiser(Workshop& workshop, const WatchedRunner::Failure& failure, const NamedData* right,
                     std::optional<Culprit>& culprit, Stopwatch& watch) {
  constexpr const char* kOption = "optimization";
  if (!workshop.takes(kOption) || watch.is_over()) return;
  EngineChange change;
  change.options = {{kOption, "disable"}};
  double distance = 0;
  try {
    watch.time("without optimisation", 1, [&] {
      const auto outputs = outputs_of_run(*workshop.make(change, watch.left()), failure.inputs);
      if (right != nullptr) distance = bounded_distance(outputs, *right, *right);
    });
  } catch (const Error&) {
    return;  // it fails by itself
  }
  if (!culprit) culprit.emplace();
  culprit->failure = FailureClass(31);
  culprit->share = 1;
  culprit->confidence = 0.95;
  culprit->sentence = fmt::format(
      "its optimiser makes an invalid model of it{}: {}",
      culprit->nodes.empty() ? "" : fmt::format(" at '{}'", culprit->nodes.front()), failure.message);
  culprit->evidence.push_back(
      {"without optimisation", distance,
       right == nullptr
           ? std::string("with --optimization disable it runs")
           : fmt::format("with --optimization disable it runs, and is {:.2g} off (root mean square)",
                         distance)});
  culprit->repair = {Repair::Kind::kOption,
                     "leave out the optimisations of the graph: " + workshop.command(change)};
}

}  // namespace vernier
