#include "vernier/diagnose/repeats/runtime_faults.h"

#include <algorithm>

#include "vernier/diagnose/repeats/batch_check.h"
#include "vernier/ops/randomness.h"

namespace vernier {

namespace {

// In front of all others, which say nothing better of the same nodes.
void put_first(RootCause root_cause, std::vector<RootCause>& root_causes) {
  std::erase_if(root_causes, [&](const RootCause& other) {
    return !root_cause.nodes.empty() && !other.nodes.empty() &&
           std::find(root_cause.nodes.begin(), root_cause.nodes.end(), other.nodes.front()) !=
               root_cause.nodes.end();
  });
  root_causes.insert(root_causes.begin(), std::move(root_cause));
}

// Whether the content of a value reaches one of these outputs.
bool leads_to(const Node& node, const std::vector<std::string>& outputs) {
  std::set<const Value*> reached(node.outputs.begin(), node.outputs.end());
  for (const auto& each : node.graph().nodes()) {
    if (std::any_of(each->inputs.begin(), each->inputs.end(),
                    [&](const Value* input) { return input != nullptr && reached.contains(input); }))
      reached.insert(each->outputs.begin(), each->outputs.end());
  }
  return std::any_of(reached.begin(), reached.end(), [&](const Value* value) {
    return value != nullptr && std::find(outputs.begin(), outputs.end(), value->name) != outputs.end();
  });
}

// A random operator in the model draws other numbers at each run, or than anybody else who starts alike.
std::optional<RootCause> drawing_node(const RuntimeContext& context,
                                      const std::vector<RootCause>& root_causes) {
  const Repeatability& seen = context.repeatability;
  std::vector<std::string> outputs = seen.outputs;
  if (seen.is_repeatable()) {
    outputs.clear();
    for (const Value* output : context.model.graph->outputs) outputs.push_back(output->name);
  }
  for (const auto& node : context.model.graph->nodes()) {
    if (!ops::draws_random_numbers(*node) || !leads_to(*node, outputs)) continue;
    const auto nodes = onnx_nodes_of(*node);
    const bool is_blamed =
        std::any_of(root_causes.begin(), root_causes.end(), [&](const RootCause& root_cause) {
          return !root_cause.nodes.empty() && root_cause.nodes.front() == nodes.front();
        });
    if (seen.is_repeatable() && !is_blamed && !(context.fails && root_causes.empty())) continue;
    const std::string what = seen.is_repeatable() ? "draws other random numbers than the reference"
                                                  : "draws other random numbers at each run";
    return root_cause_at(48, nodes, outputs, fmt::format("'{}' {}", nodes.front(), what),
                         {"repeated runs", static_cast<double>(seen.differ),
                          fmt::format("{} of {} runs on the same inputs differ, and {} draws at random",
                                      seen.differ, seen.runs, node->op)});
  }
  return std::nullopt;
}

// The class that a node's own error has got, if it tells of state or time.
bool is_told(const std::vector<RootCause>& root_causes) {
  return std::any_of(root_causes.begin(), root_causes.end(), [](const RootCause& root_cause) {
    return root_cause.failure == FailureClass(44) || root_cause.failure == FailureClass(46);
  });
}

std::set<std::string> nodes_of(const SameInputCheck& check) {
  std::set<std::string> nodes;
  for (const FlaggedNode& flagged : check.flagged_nodes) {
    for (const std::string& node : flagged.onnx_nodes()) nodes.insert(node);
  }
  return nodes;
}

// A node that is wrong after one start of the engine and sound after another.
std::optional<RootCause> start_dependent(const RuntimeContext& context, Stopwatch& watch) {
  constexpr size_t kStarts = 2;
  const auto wrong = nodes_of(context.check);
  for (size_t i = 0; i < kStarts && !watch.is_over(); ++i) {
    const auto engine = watch.time("fresh starts", 1, [&] { return context.tested.fresh(); });
    if (engine == nullptr) return std::nullopt;
    if (same(context.outputs, watch.time("fresh starts", 1, [&] { return engine->run(context.inputs); })))
      continue;
    const ShownRun shown = engine->show(context.inputs);
    const SameInputCheck check =
        watch.time("same inputs", 1, [&] { return check_on_own_inputs(*engine, shown, context.inputs); });
    const auto other = nodes_of(check);
    for (const auto* flagged_nodes : {&context.check.flagged_nodes, &check.flagged_nodes}) {
      for (const FlaggedNode& flagged : *flagged_nodes) {
        const auto nodes = flagged.onnx_nodes();
        if (wrong.contains(nodes.front()) == other.contains(nodes.front())) continue;
        const Value* value = flagged.node->output(flagged.output);
        return root_cause_at(
            42, nodes, {value == nullptr ? "" : value->name},
            fmt::format("'{}' is wrong after one start of the engine and sound after another: it gets "
                        "another kernel",
                        nodes.front()),
            {"fresh starts", static_cast<double>(i + 1),
             "the same model and the same inputs give another answer when the engine is started again"});
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void find_runtime_faults(const RuntimeContext& context, std::vector<RootCause>& root_causes,
                         Stopwatch& watch) {
  if (auto drawing = drawing_node(context, root_causes)) {
    put_first(std::move(*drawing), root_causes);
    return;
  }
  if (!context.repeatability.is_repeatable()) {
    const Repeatability& seen = context.repeatability;
    const bool before_alone = seen.depends_on_before && (seen.differ == 0 || seen.only_first);
    if (before_alone && !seen.by_chance && is_told(root_causes)) {
      if (auto late = find_late_input(context, watch)) put_first(std::move(*late), root_causes);
      return;
    }
    if (auto found = find_changing_runs(context, watch)) put_first(std::move(*found), root_causes);
    return;
  }
  // A result that stays from the first run on is right after a start, too.
  if (is_told(root_causes)) return;
  if (auto found = start_dependent(context, watch)) {
    put_first(std::move(*found), root_causes);
    return;
  }
  const bool explained = std::any_of(root_causes.begin(), root_causes.end(), [](const RootCause& root_cause) {
    return root_cause.failure.is_explained();
  });
  if (explained) return;
  if (auto place = rows_that_differ(context.model, context.tested, context.inputs, watch)) {
    const auto nodes = onnx_nodes_of(*place->node);
    put_first(
        root_cause_at(43, nodes, {place->value},
                      fmt::format("'{}': equal rows of a batch get different answers", nodes.front()),
                      {"equal rows", place->largest,
                       fmt::format("of {} equal rows, row {} of '{}' differs from the first by {:.3g} of it",
                                   place->rows, place->row, place->value, place->largest)}),
        root_causes);
  }
}

RootCause not_run_again(const NamedData& outputs, const std::string& message) {
  RootCause root_cause;
  for (const auto& [output, datum] : outputs) root_cause.values.push_back(output);
  root_cause.failure = FailureClass(46);
  root_cause.confidence = 0.5;
  root_cause.share = 1;
  root_cause.sentence = "it does not run again: " + message;
  root_cause.evidence.push_back({"repeated runs", 1, "runs that follow a good one fail: " + message});
  return root_cause;
}

}  // namespace vernier
