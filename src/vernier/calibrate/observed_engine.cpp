#include "vernier/calibrate/observed_engine.h"

#include "vernier/compile/compiler.h"
#include "vernier/compile/pipelines.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/op_def.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/ranged_values.h"

namespace vernier {

namespace {

bool is_float_tensor(const Value* value) {
  return value != nullptr && element_of(value) == ElementType::kFloat;
}

}  // namespace

// Ranges belong to the graph that types are chosen on. What the engine makes of it afterwards may compute
// some of its values no more, so the engine is built from that graph, where such values can be made outputs.
ObservedEngine::ObservedEngine(const Model& model, bool all_floats) : model_(clone(model)) {
  Graph& graph = *model_.graph;
  std::erase_if(graph.inputs, [](const Value* input) { return input->is_constant(); });
  ops::infer_types(graph);
  run_passes(graph, integer_pipeline(), {});
  run_passes(graph, model_pipeline(), {});
  choose_values(all_floats);
  shown_ = values_;
  if (all_floats) observe_inside(model);
  build();
}

ObservedEngine::ObservedEngine(const Model& model, const std::set<std::string>& names)
    : model_(clone(model)), names_(names) {
  std::erase_if(model_.graph->inputs, [](const Value* input) { return input->is_constant(); });
  ops::infer_types(*model_.graph);
  for (const auto& node : model_.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && names.contains(output->name)) values_.push_back(output);
    }
  }
  shown_ = values_;
  build();
}

// Runtimes for whom files with codes are written compute such patterns node by node. What lies inside of
// attention and of normalisations they fuse, too, and masks make it infinite.
void ObservedEngine::observe_inside(const Model& model) {
  std::set<std::string> members, names;
  for (const auto& node : model_.graph->nodes()) {
    const auto* def = ops::OpRegistry::instance().find(*node);
    if (def != nullptr && (def->traits & ops::kPointwise) != 0 && node->provenance.size() > 1)
      members.insert(node->provenance.begin(), node->provenance.end());
  }
  for (const auto& node : model.graph->nodes()) {
    if (!members.contains(node->name)) continue;
    for (const Value* output : node->outputs) {
      if (is_float_tensor(output) && !names_.contains(output->name)) names.insert(output->name);
    }
  }
  if (names.empty()) return;
  inside_.reset(new ObservedEngine(model, names));
  shown_.insert(shown_.end(), inside_->values_.begin(), inside_->values_.end());
}

void ObservedEngine::choose_values(bool all_floats) {
  const Graph& graph = *model_.graph;
  values_ = ranged_values(graph);
  std::set<const Value*> chosen(values_.begin(), values_.end());
  const auto add = [&](const Value* value) {
    if (is_float_tensor(value) && chosen.insert(value).second) values_.push_back(value);
  };
  if (all_floats) {
    for (const Value* input : graph.inputs) add(input);
    for (const auto& node : graph.nodes()) {
      for (const Value* output : node->outputs) add(output);
    }
  }
  for (const Value* value : values_) names_.insert(value->name);
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      if (&inner != &graph && !reads_dequantized(*node) && !ranged_inputs(*node).empty())
        hidden_nodes_.push_back(node->name);
    }
  });
}

void ObservedEngine::build() {
  session_.reset();
  BuildOptions options;
  options.deterministic = true;
  engine_ = compile(model_, options);
  session_.emplace(engine_);
}

bool ObservedEngine::has_channels(const Value& value) const {
  bool found = false;
  for (const auto& node : model_.graph->nodes()) {
    for (const size_t i : ranged_inputs(*node)) {
      if (node->input(i) != &value) continue;
      if (node->op != "Conv" || i != 0) return false;
      found = true;
    }
  }
  return found;
}

std::set<std::string> ObservedEngine::run_once(const NamedData& inputs, std::set<std::string> seen,
                                               const See& see) {
  const auto show = [&](const std::string& name, const Datum& datum) {
    if (!names_.contains(name) || seen.contains(name)) return;
    if (!datum.is_tensor() || datum.tensor.type() != ElementType::kFloat) return;
    see(name, datum.tensor);
    seen.insert(name);
  };
  for (const Value* value : values_) {
    if (value->is_constant()) show(value->name, *value->constant);
  }
  Observer observer;
  // Inputs rather than outputs: views are made by no step, but they are read by one.
  observer.before = [&](const ObservedStep& step) {
    for (size_t i = 0; i < step.step().inputs.size(); ++i) {
      const SlotId id = step.step().inputs[i];
      const Value* value = id == kNoSlot ? nullptr : step.plan().slots[static_cast<size_t>(id)].value;
      if (value != nullptr && names_.contains(value->name) && !seen.contains(value->name))
        show(value->name, step.input(i));
    }
  };
  for (auto& [name, datum] : session_->run(inputs, &observer)) show(name, datum);
  return seen;
}

void ObservedEngine::run(const NamedData& inputs, const See& see) {
  if (inside_) inside_->run(inputs, see);
  std::set<std::string> seen = run_once(inputs, {}, see);
  if (seen.size() == names_.size()) return;
  auto& outputs = model_.graph->outputs;
  bool added = false;
  for (const Value* value : values_) {
    if (seen.contains(value->name) || std::find(outputs.begin(), outputs.end(), value) != outputs.end())
      continue;
    outputs.push_back(const_cast<Value*>(value));
    added = true;
  }
  if (added) {
    build();
    seen = run_once(inputs, std::move(seen), see);
  }
  for (const Value* value : values_) {
    if (!seen.contains(value->name))
      throw internal_error("the engine does not show the value '{}'", value->name);
  }
}

}  // namespace vernier
