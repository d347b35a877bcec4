#include "vernier/backends/reference/reference_runner.h"

#include "vernier/exec/trace_entry.h"

namespace vernier {

ReferenceRunner::ReferenceRunner(const RunnerModel& model, ReferenceMode mode)
    : model_(*model.model),
      mode_(mode),
      name_(mode == ReferenceMode::kIdeal ? "reference=ideal" : "reference") {}

std::map<std::string, std::string> ReferenceRunner::description() {
  const bool ideal = mode_ == ReferenceMode::kIdeal;
  return {{"engine", "vernier reference"},
          {"arithmetic", "double"},
          {"rounding", ideal ? "none" : "every tensor to its declared type"}};
}

Trace ReferenceRunner::run(const NamedData& inputs, const std::vector<std::string>& taps) {
  return run(inputs, taps, InterpreterOptions{});
}

std::optional<Trace> ReferenceRunner::run_with_noise(const NamedData& inputs,
                                                     const std::vector<std::string>& taps, uint64_t seed) {
  InterpreterOptions options;
  options.noise_seed = seed;
  return run(inputs, taps, std::move(options));
}

std::optional<Trace> ReferenceRunner::run_with_values(const NamedData& inputs,
                                                      const std::vector<std::string>& taps,
                                                      const NamedData& values,
                                                      std::optional<uint64_t> noise_seed) {
  InterpreterOptions options;
  options.values = &values;
  options.noise_seed = noise_seed;
  return run(inputs, taps, std::move(options));
}

Trace ReferenceRunner::run(const NamedData& inputs, const std::vector<std::string>& taps,
                           InterpreterOptions options) {
  Trace trace;
  trace.runner = name_;
  const std::set<std::string> wanted(taps.begin(), taps.end());
  const std::set<const Value*> outputs(model_.graph->outputs.begin(), model_.graph->outputs.end());
  options.mode = mode_;
  options.observe = [&](const Value& value, const Datum& datum) {
    const bool is_output = outputs.contains(&value);
    if (is_output || wanted.contains(value.name))
      trace.entries.push_back(make_trace_entry(value, datum, is_output));
  };
  auto result = run_reference(model_, inputs, options);
  trace.unit_roundoff = result.unit_roundoff;

  // Outputs that no node makes: inputs and constants that are passed on.
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Value& output = *model_.graph->outputs[i];
    if (trace.find(output.name) == nullptr)
      trace.entries.push_back(make_trace_entry(output, std::move(result.outputs[i]), true));
  }
  for (const std::string& tap : taps) {
    if (trace.find(tap) == nullptr)
      trace.notes.push_back(fmt::format("'{}' is not shown: no node of the main graph makes it", tap));
  }
  return trace;
}

}  // namespace vernier
