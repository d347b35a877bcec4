#include <algorithm>

#include "vernier/ir/clone.h"
#include "vernier/passes/build.h"
#include "vernier/reduce/minimal_subset.h"
#include "vernier/reduce/steps/region_runs.h"
#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

constexpr size_t kMostRuns = 64;

Node* node_named(const Graph& graph, const std::string& name) {
  for (const auto& node : graph.nodes()) {
    if (node->name == name) return node.get();
  }
  return nullptr;
}

std::vector<std::string> nodes_with_regions(const Model& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph->nodes()) {
    if (!node->regions.empty()) names.push_back(node->name);
  }
  return names;
}

std::vector<RegionRun> runs_of(const ReproCase& whole, const std::string& name) {
  const Node* node = node_named(*whole.model.graph, name);
  if (node == nullptr) return {};
  try {
    return region_runs(*node, whole.model, recorded_values(whole), kMostRuns);
  } catch (const Error&) {
    return {};  // the reference does not run it
  }
}

// The first run, the second, the last, and one in the middle.
bool offer_alone(Shrinking& shrinking, const std::vector<RegionRun>& runs) {
  std::set<size_t> chosen;
  for (const size_t each : {size_t{0}, size_t{1}, runs.size() / 2, runs.size() - 1}) {
    if (each >= runs.size() || !chosen.insert(each).second) continue;
    auto candidate = with_own_outputs(runs[each].alone);
    if (candidate && shrinking.offer(std::move(*candidate))) return true;
  }
  return false;
}

// Puts the nodes of a branch, or of one trip of a body, in the place of the node that runs them.
class Inlining {
 public:
  Inlining(const ReproCase& whole, const std::string& name)
      : result_(copy(whole)), graph_(*result_.model.graph), node_(node_named(graph_, name)), names_(graph_) {}

  std::optional<ReproCase> branch(const std::string& region) {
    return put(*node_->region(region), node_->region(region)->outputs);
  }

  std::optional<ReproCase> first_trip() {
    const Graph& body = *node_->region("body");
    const size_t carried = node_->inputs.size() - 2;
    twins_[body.inputs[0]] = constant("trip", Tensor::scalar(0));
    twins_[body.inputs[1]] = constant("condition", Tensor::from<bool>(ElementType::kBool, {}, {true}));
    for (size_t i = 0; i < carried; ++i) twins_[body.inputs[2 + i]] = node_->inputs[2 + i];
    const std::vector<Value*> outputs(body.outputs.begin() + 1, body.outputs.end());
    stacked_from_ = carried;
    return put(body, outputs);
  }

 private:
  Value* constant(const std::string& name, Tensor content) {
    return graph_.add_constant(names_.take(name), std::move(content));
  }

  std::optional<ReproCase> put(const Graph& region, const std::vector<Value*>& outputs) {
    if (outputs.size() < node_->outputs.size()) return std::nullopt;
    for (const auto& value : region.values()) {
      if (value->is_constant()) twins_[value.get()] = constant(value->name, *value->constant);
    }
    for (const auto& inner : region.nodes()) {
      for (const Value* output : inner->outputs) {
        if (output != nullptr) twins_[output] = graph_.add_value(names_.take(output->name), output->type);
      }
      graph_.add_node(clone(*inner, twins_, &graph_), position());
    }
    for (size_t i = 0; i < node_->outputs.size(); ++i) {
      if (node_->outputs[i] == nullptr) continue;
      const auto twin = twins_.find(outputs[i]);
      Value* made = twin == twins_.end() ? outputs[i] : twin->second;
      if (i >= stacked_from_) made = stacked(made);
      graph_.replace_uses(node_->outputs[i], made);
    }
    const std::set<const Value*> gone(node_->outputs.begin(), node_->outputs.end());
    graph_.remove_nodes({node_});
    graph_.remove_values(gone);
    const bool is_made = std::all_of(graph_.outputs.begin(), graph_.outputs.end(),
                                     [](const Value* output) { return output->producer() != nullptr; });
    return is_made ? std::optional(std::move(result_)) : std::nullopt;
  }

  // A scan output of one trip: a new axis in front.
  Value* stacked(Value* element) {
    auto node = std::make_unique<Node>();
    Value* made = graph_.add_value(names_.take(element->name + "_trips"));
    node->name = made->name;
    node->op = "Unsqueeze";
    node->version = result_.model.opset("");
    node->inputs = {element};
    node->outputs = {made};
    constexpr int64_t kAxesAreAnInput = 13;
    if (node->version >= kAxesAreAnInput)
      node->inputs.push_back(constant("axis", Tensor::from<int64_t>(ElementType::kInt64, {1}, {0})));
    else
      node->attributes["axes"] = std::vector<int64_t>{0};
    graph_.add_node(std::move(node), position());
    return made;
  }

  size_t position() const {
    const auto& nodes = graph_.nodes();
    return static_cast<size_t>(
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == node_; }) -
        nodes.begin());
  }

  ReproCase result_;
  Graph& graph_;
  Node* node_;
  FreeNames names_;
  ValueMap twins_;
  size_t stacked_from_ = SIZE_MAX;  // outputs from this one on are elements of scan outputs
};

std::optional<ReproCase> inlined(const ReproCase& whole, const std::string& name, const RegionRun& run) {
  const Node* node = node_named(*whole.model.graph, name);
  if (node->op == "If") return Inlining(whole, name).branch(run.region);
  if (node->op == "Loop") return Inlining(whole, name).first_trip();
  return std::nullopt;
}

// Leaves out nodes of the region that the first run runs.
class RegionCut {
 public:
  RegionCut(Shrinking& shrinking, const std::string& name, const RegionRun& run)
      : shrinking_(shrinking), whole_(copy(shrinking.best())), name_(name), region_(run.region) {
    known_ = recorded_values(run.alone);
    for (const auto& node : node_named(*whole_.model.graph, name)->region(region_)->nodes())
      nodes_.push_back(node->name);
  }

  void run() {
    minimal_subset(nodes_.size(), [&](const std::vector<size_t>& kept) {
      if (shrinking_.is_over()) return false;
      std::set<std::string> names;
      for (const size_t each : kept) names.insert(nodes_[each]);
      auto candidate = keeping(names);
      return candidate && shrinking_.offer(std::move(*candidate));
    });
  }

 private:
  std::optional<ReproCase> keeping(const std::set<std::string>& names) const {
    ReproCase candidate = copy(whole_);
    Graph& graph = *candidate.model.graph;
    Graph& region = *node_named(graph, name_)->region(region_);
    std::set<const Node*> dead;
    std::set<const Value*> gone;
    for (const auto& node : region.nodes()) {
      if (names.contains(node->name)) continue;
      dead.insert(node.get());
      for (Value* output : node->outputs) {
        if (output == nullptr) continue;
        const auto known = known_.find(output->name);
        if (known == known_.end() || !known->second.is_tensor()) return std::nullopt;
        Value* given = graph.add_input(free_name(graph, output->name + "_given"), output->type);
        candidate.inputs[given->name] = known->second;
        region.replace_uses(output, given);
        gone.insert(output);
      }
    }
    region.remove_nodes(dead);
    region.remove_values(gone);
    return candidate;
  }

  Shrinking& shrinking_;
  const ReproCase whole_;
  const std::string name_, region_;
  NamedData known_;
  std::vector<std::string> nodes_;
};

}  // namespace

void open_regions(Shrinking& shrinking) {
  for (const std::string& name : nodes_with_regions(shrinking.best().model)) {
    if (shrinking.is_over()) return;
    const auto runs = runs_of(shrinking.best(), name);
    if (runs.empty()) continue;
    shrinking.begin("regions");
    if (offer_alone(shrinking, runs)) return;
    auto candidate = inlined(shrinking.best(), name, runs.front());
    if (candidate) shrinking.offer(std::move(*candidate));
  }
}

void cut_region_nodes(Shrinking& shrinking) {
  for (const std::string& name : nodes_with_regions(shrinking.best().model)) {
    if (shrinking.is_over()) return;
    const auto runs = runs_of(shrinking.best(), name);
    if (runs.empty()) continue;
    shrinking.begin("nodes of regions");
    RegionCut(shrinking, name, runs.front()).run();
  }
}

}  // namespace vernier
