#include "vernier/diagnose/experiments/several_engines.h"

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/experiments/stopwatch.h"

namespace vernier {

namespace {

std::optional<FirstWrongValue> find_first_difference(const EngineOutputs& engine, const KeptSamples& samples,
                                                     size_t most_bytes, Stopwatch& watch) {
  if (engine.outputs.empty()) return std::nullopt;
  EngineUnderTest& tested = *engine.engine.tested;
  const NamedData& inputs = samples.kept()[engine.outputs.begin()->first].inputs;
  tested.limit_time(watch.left());
  const ShownRun shown = watch.time("inner values", 1, [&] {
    return tested.show(inputs, {std::nullopt, most_bytes});
  });
  SameInputOptions options;
  options.most = 1;
  options.is_over = [&] { return watch.is_over(); };
  const auto check =
      watch.time("same inputs", 1, [&] { return check_on_own_inputs(tested, shown, inputs, options); });
  if (check.flagged_nodes.empty()) return std::nullopt;
  return difference_of(check.flagged_nodes.front());
}

}  // namespace

SeveralEngines compare_engines(const OutputsCompared& compared, const std::string& against,
                               const KeptSamples& samples, const std::optional<FirstWrongValue>& known,
                               size_t most_bytes, Stopwatch& watch) {
  std::vector<ComparedEngine> engines;
  for (const EngineOutputs& each : compared.engines)
    engines.push_back({each.engine.runner->name(), &each.comparison, &each.outputs});
  SeveralEngines result{agreements(engines, against, compared.right), {}};
  for (size_t i = 0; i < engines.size(); ++i) {
    const EngineOutputs& each = compared.engines[i];
    if (&each == &compared.root_cause()) {
      result.engines[i].first_difference = known;
    } else if (each.comparison.verdict == Verdict::kFail) {
      attempt(engines[i].name, watch, result.notes, [&] {
        result.engines[i].first_difference = find_first_difference(each, samples, most_bytes, watch);
      });
    }
  }
  result.notes.push_back(agreement_sentence(result.engines));
  return result;
}

FirstWrongValue difference_of(const FlaggedNode& flagged) {
  const Value* value = flagged.node->output(flagged.output);
  return {value == nullptr ? "" : value->name, flagged.onnx_nodes()};
}

}  // namespace vernier
