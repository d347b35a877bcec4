#include "vernier/diagnose/experiments/metamorphic.h"

#include <cmath>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/experiments/ranges.h"
#include "vernier/diagnose/repeats/batch_rows.h"
#include "vernier/diagnose/repeats/repeatability.h"
#include "vernier/diagnose/subjects/runner_subject.h"

namespace vernier {

namespace {

Finding finding(const char* rule, std::string node, std::string message, std::string remedy) {
  return {rule, Severity::kError, 1, std::move(node), std::move(message), std::move(remedy)};
}

void check_repeats(Runner& runner, const NamedData& inputs, std::vector<Finding>& findings) {
  const NamedData first = outputs_of(runner.run(inputs, {})), second = outputs_of(runner.run(inputs, {}));
  try {
    runner.run(reordered(inputs), {});
  } catch (const Error&) {
    // The model does not take these: then it is only one run more.
  }
  const NamedData third = outputs_of(runner.run(inputs, {}));
  for (const std::string& output : differing_outputs(first, second))
    findings.push_back(finding("B44-not-repeatable", "",
                               fmt::format("'{}' differs between runs on the same inputs", output),
                               "wait for the stream before results are read; own the buffers"));
  for (const std::string& output : differing_outputs(second, third))
    findings.push_back(finding("B46-state", "",
                               fmt::format("'{}' differs after a run on other inputs", output),
                               "clear what a run leaves before the next"));
}

// A change of the batch under which the answers must change in a known way.
struct BatchRelation {
  const char* rule;
  const char* what;
  NamedData (*change)(const NamedData& inputs);
  double (*violation)(const NamedData& before, const NamedData& after);  // relative to the largest answer
};

constexpr BatchRelation kRelations[] = {
    {"B43-equal-rows", "equal samples of a batch have different answers", all_as_first_row,
     [](const NamedData&, const NamedData& after) { return spread_of_rows(after); }},
    {"B43-row-order", "samples in reverse order do not have their answers in reverse order",
     with_rows_reversed,
     [](const NamedData& before, const NamedData& after) {
       return distance_of(with_rows_reversed(before), after);
     }},
};

void check_batches(const Model& model, Runner& runner, const NamedData& inputs,
                   std::vector<Finding>& findings) {
  if (!has_batch(model, inputs)) return;
  constexpr double kSame = 1e-3;  // sums of other kernels for other rows
  for (const BatchRelation& relation : kRelations) {
    const NamedData changed = relation.change(inputs);
    const auto violation = [&](const auto& run) { return relation.violation(run(inputs), run(changed)); };
    try {
      if (violation([&](const NamedData& data) { return reference_outputs(*model.graph, data); }) > kSame)
        continue;
    } catch (const Error&) {
      // The reference does not run it: samples are taken to be apart.
    }
    const double found = violation([&](const NamedData& data) { return outputs_of(runner.run(data, {})); });
    if (found <= kSame) continue;
    findings.push_back(finding(relation.rule, "",
                               fmt::format("{}: they differ by {:.2g} of the largest", relation.what, found),
                               "run samples one by one, or with another kernel"));
  }
}

void check_ranges(const Model& model, Runner& runner, const NamedData& inputs,
                  std::vector<Finding>& findings) {
  std::vector<std::string> taps;
  for (const auto& node : model.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->type.is_tensor()) taps.push_back(output->name);
    }
  }
  NamedData values = inputs;
  for (TraceEntry& entry : runner.run(inputs, taps).entries) values[entry.value] = std::move(entry.datum);
  for (const auto& value : model.graph->values()) {
    if (value->is_constant()) values.emplace(value->name, *value->constant);
  }
  for (const auto& node : model.graph->nodes()) {
    const auto violation = range_violation(*node, values);
    if (violation)
      findings.push_back(finding(violation->rule, node->name, violation->text,
                                 "no reference is needed to see that: replace or bar the kernel"));
  }
}

}  // namespace

std::vector<Finding> metamorphic_findings(const Model& model, Runner& runner, const NamedData& inputs) {
  std::vector<Finding> findings;
  check_ranges(model, runner, inputs, findings);
  check_repeats(runner, inputs, findings);
  check_batches(model, runner, inputs, findings);
  return findings;
}

}  // namespace vernier
