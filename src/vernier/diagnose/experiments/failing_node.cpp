#include "vernier/diagnose/experiments/failing_node.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/experiments/wrong_sizes.h"
#include "vernier/diagnose/under_test/partial_models.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

class Search {
 public:
  Search(EngineUnderTest& tested, const Model& model, const NamedData& inputs, Stopwatch& watch)
      : tested_(tested), model_(model), inputs_(inputs), watch_(watch) {
    const double steps = std::log2(static_cast<double>(nodes()) + 1) + 3;
    constexpr double kLeast = 2;  // seconds, in which a process starts
    // Half of the runs hang if the engine hangs.
    limit_ = std::max(kLeast, watch.left() / steps);
  }

  FailingNode run(const std::string& failure) {
    FailingNode result;
    const auto whole = failure_of(nodes());
    if (!whole) {
      result.notes.push_back(takes_others_ ? "a copy of the model runs: what fails is not in its nodes"
                                           : "the engine runs no other model: no node can be named");
      return result;
    }
    size_t runs = 0, fails = nodes();
    std::string message = *whole;
    while (fails - runs > 1 && !watch_.is_over()) {
      const size_t middle = runs + (fails - runs) / 2;
      if (const auto again = failure_of(middle)) {
        fails = middle;
        message = *again;
      } else {
        runs = middle;
      }
    }
    if (fails - runs > 1) {
      result.notes.push_back(
          fmt::format("the first {} nodes run, the first {} do not; then the time was over", runs, fails));
      return result;
    }
    result.root_cause = root_cause(fails - 1, message, failure);
    return result;
  }

 private:
  size_t nodes() const { return model_.graph->nodes().size(); }

  std::optional<std::string> failure_of(size_t first) {
    return failure([&] { return tested_.run_other(first_nodes(model_, first), inputs_); });
  }

  template <class Run>
  std::optional<std::string> failure(const Run& run) {
    tested_.limit_time(std::min(limit_, std::max(0.1, watch_.left())));
    try {
      const auto made = watch_.time("parts of the model", 1, run);
      takes_others_ = made.has_value();
      return std::nullopt;
    } catch (const Error& error) {
      return error.message();
    }
  }

  RootCause root_cause(size_t index, const std::string& message, const std::string& failure) {
    const Node& node = *model_.graph->nodes()[index];
    RootCause result;
    result.nodes = onnx_nodes_of(node);
    for (const Value* output : node.outputs) {
      if (output != nullptr) result.values.push_back(output->name);
    }
    result.sentence = fmt::format("with '{}' ({}) it does not run: {}", node.name, node.op, failure);
    result.share = 1;
    result.confidence = 0.9;
    result.evidence.push_back(
        {"parts of the model", static_cast<double>(index),
         fmt::format("the first {} nodes run; with '{}' behind them the engine fails: {}", index, node.name,
                     message)});
    add_run_alone(node, result);
    add_cause(index, failure, result);
    return result;
  }

  // Where all that is refused are the sizes of what the node makes.
  void add_cause(size_t index, const std::string& failure, RootCause& result) {
    if (watch_.is_over()) return;
    const auto found = cause_of_sizes(tested_, model_, index, inputs_, watch_);
    if (!found.cause) return;
    result.failure = found.cause->failure;
    result.confidence = found.confidence;
    result.sentence = fmt::format("'{}': {}; of other sizes than the model says: {}", result.nodes.front(),
                                  found.cause->what, failure);
    result.evidence.push_back(
        {"reproduction", found.cause->residual,
         fmt::format(
             "the reference, in which {}, makes what the engine makes where nothing is said of sizes, "
             "but for {:.3g} % of the error",
             found.cause->what, 100 * found.cause->residual)});
  }

  void add_run_alone(const Node& node, RootCause& result) {
    if (watch_.is_over()) return;
    NamedData operands = inputs_;
    InterpreterOptions options;
    options.observe = [&](const Value& value, const Datum& datum) {
      if (std::find(node.inputs.begin(), node.inputs.end(), &value) != node.inputs.end())
        operands[value.name] = datum;
    };
    try {
      run_reference(model_, inputs_, options);
    } catch (const Error&) {
      return;  // nothing to feed it with
    }
    const auto lone = alone(model_, node.name, operands);
    if (!lone) return;
    std::erase_if(operands, [&](const auto& each) { return !reads(*lone, each.first); });
    const auto message = failure([&] { return tested_.run_other(*lone, operands); });
    result.evidence.push_back({"single nodes", message ? 1.0 : 0.0,
                               message ? "it fails as a model of its own, too: " + *message
                                       : std::string("as a model of its own it runs")});
  }

  static bool reads(const Model& model, const std::string& input) {
    return std::any_of(model.graph->inputs.begin(), model.graph->inputs.end(),
                       [&](const Value* value) { return value->name == input; });
  }

  EngineUnderTest& tested_;
  const Model& model_;
  const NamedData& inputs_;
  Stopwatch& watch_;
  double limit_ = 0;
  bool takes_others_ = false;
};

}  // namespace

FailingNode find_failing_node(EngineUnderTest& tested, const Model& model, const NamedData& inputs,
                              const std::string& failure, Stopwatch& watch) {
  return Search(tested, model, inputs, watch).run(failure);
}

namespace {

Tensor as_declared(const Tensor& tensor, ElementType type) {
  if (!tensor.is_defined() || !is_float(tensor.type()) || tensor.type() == type ||
      type == ElementType::kUndefined)
    return tensor;
  return Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
}

// The node with what the engine makes of it alone; nothing if it does not run it.
std::optional<FlaggedNode> lone_flagged(EngineUnderTest& tested, const Model& model, const Member& member) {
  const Node& node = member.node();
  FlaggedNode flagged;
  flagged.node = &node;
  NamedData operands;
  for (size_t i = 0; i < member.input_count(); ++i) {
    flagged.inputs.push_back(as_declared(member.in(i), member.declared(i)));
    if (member.has(i) && !member.is_constant(i)) operands[node.inputs[i]->name] = flagged.inputs.back();
  }
  const auto lone = alone(model, node.name, operands);
  if (!lone) return std::nullopt;
  const auto made = tested.run_other(*lone, operands);
  if (!made) return std::nullopt;
  flagged.contract = tested.assumed_contract(node);
  flagged.expected = ErrorModel(node, flagged.inputs).outputs(flagged.contract);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    flagged.made.emplace_back();
    if (node.outputs[i] == nullptr) continue;
    const auto found = made->find(node.outputs[i]->name);
    if (found == made->end() || !found->second.is_tensor()) continue;
    flagged.made.back() = found->second.tensor;
    compare_output(flagged, i);
  }
  return flagged;
}

}  // namespace

LoneNodes run_alone(EngineUnderTest& tested, const Model& model, const FlaggedNode& group, Stopwatch& watch) {
  LoneNodes result;
  const Members members(group);
  for (const Member& member : members.all()) {
    if (watch.is_past(0.8)) {
      result.is_whole = false;
      break;
    }
    tested.limit_time(watch.left());
    try {
      auto flagged = watch.time("single nodes", 1, [&] { return lone_flagged(tested, model, member); });
      if (!flagged)
        ++result.refused;
      else if (flagged->worst.is_rounding())
        ++result.right;
      else
        result.flagged_nodes.push_back(std::move(*flagged));
    } catch (const Error&) {
      ++result.refused;
    }
  }
  return result;
}

namespace {

NamedData outputs_of_run(Runner& runner, const NamedData& inputs) {
  NamedData outputs;
  for (TraceEntry& entry : runner.run(inputs, {}).entries) {
    if (entry.is_output) outputs[entry.value] = std::move(entry.datum);
  }
  return outputs;
}

}  // namespace

void blame_optimiser(RepairBuilder& repair_builder, const WatchedRunner::Failure& failure,
                     const NamedData* right, std::optional<RootCause>& root_cause, Stopwatch& watch) {
  constexpr const char* kOption = "optimization";
  if (!repair_builder.takes(kOption) || watch.is_over()) return;
  EngineChange change;
  change.options = {{kOption, "disable"}};
  double distance = 0;
  try {
    watch.time("without optimisation", 1, [&] {
      const auto outputs = outputs_of_run(*repair_builder.make(change, watch.left()), failure.inputs);
      if (right != nullptr) distance = bounded_distance(outputs, *right, *right);
    });
  } catch (const Error&) {
    return;  // it fails by itself
  }
  if (!root_cause) root_cause.emplace();
  root_cause->failure = FailureClass(31);
  root_cause->share = 1;
  root_cause->confidence = 0.95;
  root_cause->sentence = fmt::format(
      "its optimiser makes an invalid model of it{}: {}",
      root_cause->nodes.empty() ? "" : fmt::format(" at '{}'", root_cause->nodes.front()), failure.message);
  root_cause->evidence.push_back(
      {"without optimisation", distance,
       right == nullptr
           ? std::string("with --optimization disable it runs")
           : fmt::format("with --optimization disable it runs, and is {:.2g} off (root mean square)",
                         distance)});
  root_cause->repair = {Repair::Kind::kOption,
                        "leave out the optimisations of the graph: " + repair_builder.command(change)};
}

}  // namespace vernier
