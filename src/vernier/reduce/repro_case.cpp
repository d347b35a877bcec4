#include "vernier/reduce/repro_case.h"

#include <algorithm>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/randomness.h"
#include "vernier/passes/passes.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

size_t bytes_of(const Datum& datum) {
  if (datum.is_tensor()) return datum.tensor.is_defined() ? datum.tensor.byte_size() : 0;
  size_t bytes = 0;
  if (datum.sequence) {
    for (const Datum& element : *datum.sequence) bytes += bytes_of(element);
  }
  return bytes;
}

std::vector<Value*> values_read_by(const Node& node) {
  std::vector<Value*> values = node.inputs;
  const auto captured = captured_values(node);
  values.insert(values.end(), captured.begin(), captured.end());
  std::erase(values, nullptr);
  return values;
}

void remove_unused_inputs(ReproCase& reproduction) {
  Graph& graph = *reproduction.model.graph;
  std::set<const Value*> used(graph.outputs.begin(), graph.outputs.end());
  for (const auto& node : graph.nodes()) {
    for (const Value* value : values_read_by(*node)) used.insert(value);
  }
  std::set<const Value*> unused;
  for (const Value* input : graph.inputs) {
    if (used.contains(input)) continue;
    unused.insert(input);
    reproduction.inputs.erase(input->name);
  }
  std::erase_if(graph.inputs, [&](const Value* input) { return unused.contains(input); });
  graph.remove_values(unused);
}

// Finds the values that nodes make of constants alone: engines know its content, as they know that of
// constants.
std::set<const Value*> values_of_constants(const Graph& graph) {
  std::set<const Value*> found;
  const auto is_known = [&](const Value* value) {
    return value == nullptr || value->is_constant() || found.contains(value);
  };
  for (const auto& node : graph.nodes()) {
    const auto read = values_read_by(*node);
    if (read.empty() || ops::draws_random_numbers(*node) || !std::all_of(read.begin(), read.end(), is_known))
      continue;
    found.insert(node->outputs.begin(), node->outputs.end());
  }
  return found;
}

// Builds a model from some nodes of another.
class Extraction {
 public:
  Extraction(const Model& model, const std::set<const Node*>& nodes, const NamedData& known)
      : model_(model),
        nodes_(nodes),
        known_(known),
        fixed_(values_of_constants(*model.graph)),
        made_(std::make_unique<Graph>()) {}

  std::optional<ReproCase> run() {
    for (const auto& node : model_.graph->nodes()) {
      if (nodes_.contains(node.get()) && !add(*node)) return std::nullopt;
    }
    add_outputs();
    if (made_->outputs.empty()) return std::nullopt;
    result_.model.graph = std::move(made_);
    result_.model.graph->name = model_.graph->name;
    result_.model.ir_version = model_.ir_version;
    result_.model.opsets = model_.opsets;
    result_.model.producer = "vernier";
    return std::move(result_);
  }

 private:
  bool add(const Node& node) {
    for (const Value* value : values_read_by(node)) {
      if (!twins_.contains(value) && !add_operand(*value)) return false;
    }
    for (const Value* output : node.outputs) {
      if (output != nullptr) twins_[output] = made_->add_value(output->name, output->type);
    }
    made_->add_node(clone(node, twins_, made_.get()));
    return true;
  }

  bool add_operand(const Value& value) {
    const auto given = known_.find(value.name);
    if (value.is_constant()) {
      // Data may replace the default of an input.
      const bool is_given = given != known_.end() && given->second.is_tensor();
      twins_[&value] = made_->add_constant(value.name, is_given ? given->second.tensor : *value.constant);
      return true;
    }
    if (given == known_.end()) return false;
    if (fixed_.contains(&value) && given->second.is_tensor()) {
      twins_[&value] = made_->add_constant(value.name, given->second.tensor);
      return true;
    }
    const auto& inputs = model_.graph->inputs;
    if (!given->second.is_tensor() && std::find(inputs.begin(), inputs.end(), &value) == inputs.end())
      return false;
    twins_[&value] = made_->add_input(value.name, value.type);
    result_.inputs[value.name] = given->second;
    return true;
  }

  void add_outputs() {
    std::set<const Value*> wanted(model_.graph->outputs.begin(), model_.graph->outputs.end());
    std::set<const Value*> read_inside;
    for (const auto& node : model_.graph->nodes()) {
      auto& readers = nodes_.contains(node.get()) ? read_inside : wanted;
      for (const Value* value : values_read_by(*node)) readers.insert(value);
    }
    for (const auto& node : model_.graph->nodes()) {
      if (!nodes_.contains(node.get())) continue;
      for (const Value* output : node->outputs) {
        if (output != nullptr && wanted.contains(output)) made_->outputs.push_back(twins_.at(output));
      }
    }
  }

  const Model& model_;
  const std::set<const Node*>& nodes_;
  const NamedData& known_;
  const std::set<const Value*> fixed_;
  std::unique_ptr<Graph> made_;
  ValueMap twins_;
  ReproCase result_;
};

}  // namespace

ReproCase copy(const ReproCase& original) {
  return {clone(original.model), original.inputs};
}

size_t node_count(const Model& model) {
  size_t count = 0;
  for_each_graph(*model.graph, [&](const Graph& graph) { count += graph.nodes().size(); });
  return count;
}

size_t constant_bytes(const Model& model) {
  size_t bytes = 0;
  for_each_graph(*model.graph, [&](const Graph& graph) {
    for (const auto& value : graph.values()) bytes += value->is_constant() ? bytes_of(*value->constant) : 0;
  });
  return bytes;
}

size_t input_bytes(const NamedData& inputs) {
  size_t bytes = 0;
  for (const auto& [name, datum] : inputs) bytes += bytes_of(datum);
  return bytes;
}

bool settle(ReproCase& reproduction) {
  Graph& graph = *reproduction.model.graph;
  remove_dead_code().run(graph);
  remove_unused_inputs(reproduction);
  for_each_graph(graph, [](Graph& inner) {
    for (const auto& value : inner.values()) {
      value->declared.reset();
      if (value->is_constant())
        value->type = ValueType::of(value->constant->type(), to_shape(value->constant->dims()));
    }
  });
  for (Value* input : graph.inputs) {
    const auto given = reproduction.inputs.find(input->name);
    if (given == reproduction.inputs.end()) {
      if (input->is_constant()) continue;
      return false;
    }
    if (!given->second.is_tensor()) continue;
    const Tensor& tensor = given->second.tensor;
    input->type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  }
  try {
    ops::infer_types(graph);
  } catch (const Error&) {
    return false;
  }
  return !graph.nodes().empty() && !graph.outputs.empty();
}

std::optional<ReproCase> extract(const Model& model, const std::set<const Node*>& nodes,
                                 const NamedData& known) {
  return Extraction(model, nodes, known).run();
}

NamedData recorded_values(const ReproCase& reproduction) {
  NamedData values = reproduction.inputs;
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) {
    values[value.name] =
        datum.is_tensor() && datum.tensor.is_defined() ? Datum(set_aside(datum.tensor)) : datum;
  };
  run_reference(reproduction.model, reproduction.inputs, options);
  return values;
}

Value* find_value(const Graph& graph, std::string_view name) {
  for (const auto& value : graph.values()) {
    if (value->name == name) return value.get();
  }
  return nullptr;
}

}  // namespace vernier
