#include "vernier/diagnose/under_test/built_engine.h"

#include <algorithm>

#include "vernier/diagnose/under_test/inner_values.h"
#include "vernier/engine/planned_roundings.h"
#include "vernier/exec/group_members.h"
#include "vernier/ops/group.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

// A group whose nodes run one by one has no step of its own: its nodes say what becomes of the numbers.
void add_separated(const Node& node, std::map<const Node*, NumericsContract>& contracts) {
  if (!ops::is_group(node)) return;
  std::vector<NumericsContract> members;
  for (const auto& member : ops::body(node).nodes()) {
    add_separated(*member, contracts);
    const auto found = contracts.find(member.get());
    if (found != contracts.end()) members.push_back(found->second);
  }
  if (!members.empty()) contracts.try_emplace(&node, sequence_contract(members));
}

// A copy that stays what it is when the engine goes on, in a file where it is large.
Datum own(const Datum& datum) {
  if (!datum.is_tensor() || !datum.tensor.is_defined()) return datum;
  Datum kept = set_aside(datum.tensor);
  if (!kept.tensor.is_deferred()) kept.tensor.mutable_raw();
  return kept;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The values in the order in which nodes of the graph make them.
std::vector<std::string> in_order(const Graph& graph, const std::map<std::string, size_t>& values) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && values.contains(output->name)) names.push_back(output->name);
    }
  }
  return names;
}

}  // namespace

NamedData BuiltEngineUnderTest::watch(
    const NamedData& inputs, const std::function<void(const Value& value, const Datum& datum)>& keep) {
  Observer observer;
  observer.after = [&](const ObservedStep& seen, int64_t) {
    for (size_t i = 0; i < seen.step().outputs.size(); ++i) {
      if (const Value* value = seen.value_made(i)) keep(*value, seen.output(i));
    }
  };
  return runner_.session(inputs).run(inputs, &observer);
}

ShownRun BuiltEngineUnderTest::show(const NamedData& inputs, const ShowOptions& options) {
  const auto plan = runner_.session(inputs).plan_with_graph(inputs);
  ShownRun shown;
  std::map<std::string, size_t> bytes;
  size_t held = 0;
  const NamedData outputs = watch(inputs, [&](const Value& value, const Datum& datum) {
    if (options.values && !contains(*options.values, value.name)) return;
    held += bytes[value.name] = datum.is_tensor() ? datum.tensor.byte_size() : 0;
    if (held <= options.most_bytes) shown.values.insert_or_assign(value.name, own(datum));
  });
  if (held > options.most_bytes) {
    shown.values.clear();
    shown.batches = in_batches(in_order(*plan->graph, bytes), bytes, options.most_bytes);
    shown.fetch = [this, inputs, batches = shown.batches](size_t batch) {
      NamedData values;
      watch(inputs, [&](const Value& value, const Datum& datum) {
        if (contains(batches.at(batch), value.name)) values.insert_or_assign(value.name, own(datum));
      });
      return values;
    };
  }
  for (const auto& [name, datum] : outputs) shown.values.insert_or_assign(name, datum);
  shown.defaults = default_inputs(runner_.engine()->graph());
  shown.graph = plan->graph;
  shown.roundings = planned_roundings(*plan);
  if (runner_.engine()->precision().quantizes())
    shown.quantized = {runner_.engine(), &runner_.engine()->graph()};
  for (const Step& step : plan->steps) {
    if (step.node != nullptr && step.kernel) shown.contracts[step.node] = step.kernel->contract;
  }
  for (const auto& node : plan->graph->nodes()) add_separated(*node, shown.contracts);
  return shown;
}

NumericsContract BuiltEngineUnderTest::assumed_contract(const Node& node) const {
  NumericsContract contract = float_contract(node);
  contract.rounds_between = true;
  return contract;
}

}  // namespace vernier
