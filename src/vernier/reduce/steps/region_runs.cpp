#include "vernier/reduce/steps/region_runs.h"

#include <algorithm>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier {

namespace {

constexpr size_t kLoopState = 2;  // the first input of a Loop, and of its body, that is carried

// Content of a value around the node; nothing if it is not known, or no tensor.
std::optional<Tensor> content_of(const Value* value, const NamedData& known) {
  if (value == nullptr) return std::nullopt;
  if (value->is_constant()) return *value->constant;
  const auto found = known.find(value->name);
  if (found == known.end() || !found->second.is_tensor()) return std::nullopt;
  return found->second.tensor;
}

class RegionRuns {
 public:
  RegionRuns(const Node& node, const Model& model, const NamedData& known, size_t most)
      : node_(node), model_(model), known_(known), most_(most) {}

  std::vector<RegionRun> run() && {
    if (!node_.domain.empty()) return {};
    if (node_.op == "If") run_branch();
    if (node_.op == "Loop") run_loop();
    if (node_.op == "Scan" && node_.version >= 9) run_scan();
    return std::move(runs_);
  }

 private:
  void run_branch() {
    const auto condition = content_of(node_.input(0), known_);
    if (!condition || condition->size() != 1) return;
    const std::string name = condition->to_ints()[0] != 0 ? "then_branch" : "else_branch";
    if (auto alone = as_model(name, {})) runs_.push_back({name, std::move(*alone)});
  }

  void run_loop() {
    const Graph* body = node_.region("body");
    if (body == nullptr || body->inputs.size() < kLoopState) return;
    std::vector<Tensor> state;
    for (size_t i = kLoopState; i < node_.inputs.size(); ++i) {
      const auto content = content_of(node_.inputs[i], known_);
      if (!content) return;
      state.push_back(*content);
    }
    const auto limit = content_of(node_.input(0), known_), condition = content_of(node_.input(1), known_);
    const int64_t trips = limit ? limit->to_ints().at(0) : INT64_MAX;
    bool goes_on = !condition || condition->to_ints().at(0) != 0;
    for (int64_t trip = 0; goes_on && trip < trips && runs_.size() < most_; ++trip) {
      std::vector<Tensor> inputs = {Tensor::scalar(trip), Tensor::from<bool>(ElementType::kBool, {}, {true})};
      inputs.insert(inputs.end(), state.begin(), state.end());
      const auto made = run_body(std::move(inputs));
      if (made.size() < state.size() + 1) return;
      goes_on = node_.input(1) == nullptr || made[0].to_ints().at(0) != 0;
      state.assign(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(state.size()));
    }
  }

  void run_scan() {
    const Attribute* scanned = node_.find_attribute("num_scan_inputs");
    if (scanned == nullptr) return;
    const auto count = static_cast<size_t>(std::max<int64_t>(0, scanned->get<int64_t>()));
    if (count < 1 || count > node_.inputs.size()) return;
    const size_t states = node_.inputs.size() - count;
    std::vector<Tensor> state, sequences;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const auto content = content_of(node_.inputs[i], known_);
      if (!content) return;
      (i < states ? state : sequences).push_back(*content);
    }
    const auto axes = entries_of("scan_input_axes", count), back = entries_of("scan_input_directions", count);
    if (axes.size() != count || back.size() != count) return;
    for (int64_t trip = 0; runs_.size() < most_; ++trip) {
      std::vector<Tensor> inputs = state;
      for (size_t i = 0; i < count; ++i) {
        const int64_t axis = axes[i] < 0 ? axes[i] + sequences[i].rank() : axes[i];
        const int64_t length = sequences[i].dims().at(static_cast<size_t>(axis));
        if (trip >= length) return;
        inputs.push_back(ops::select_axis(sequences[i], axis, back[i] != 0 ? length - 1 - trip : trip));
      }
      const auto made = run_body(std::move(inputs));
      if (made.size() < states) return;
      state.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(states));
    }
  }

  // One for each scan input; a list that is left out is one of zeros.
  std::vector<int64_t> entries_of(std::string_view name, size_t count) const {
    const Attribute* list = node_.find_attribute(name);
    return list == nullptr ? std::vector<int64_t>(count) : list->get<std::vector<int64_t>>();
  }

  // One run of the body; what it gives, or nothing where that is not all tensors.
  std::vector<Tensor> run_body(std::vector<Tensor> inputs) {
    auto alone = as_model("body", std::move(inputs));
    if (!alone) return {};
    std::vector<Tensor> made;
    for (const Datum& output : run_reference(alone->model, alone->inputs).outputs) {
      if (!output.is_tensor()) return {};
      made.push_back(output.tensor);
    }
    runs_.push_back({"body", std::move(*alone)});
    return made;
  }

  std::optional<ReproCase> as_model(const std::string& name, std::vector<Tensor> inputs) {
    const Graph* region = node_.region(name);
    if (region == nullptr || region->inputs.size() != inputs.size()) return std::nullopt;
    ReproCase alone;
    alone.model.graph = std::make_unique<Graph>();
    alone.model.graph->name = region->name;
    alone.model.ir_version = model_.ir_version;
    alone.model.opsets = model_.opsets;
    alone.model.producer = "vernier";
    Graph& graph = *alone.model.graph;
    ValueMap twins;
    const auto add_input = [&](const Value& value, Tensor content) {
      twins[&value] = graph.add_input(value.name, ValueType::of(content.type(), to_shape(content.dims())));
      alone.inputs[value.name] = std::move(content);
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      // Trip number and condition may be declared as vectors of one element.
      const auto& shape = region->inputs[i]->type.tensor.shape;
      const bool is_vector = shape && shape->size() == 1 && inputs[i].rank() == 0;
      add_input(*region->inputs[i], is_vector ? inputs[i].reshaped({1}) : std::move(inputs[i]));
    }
    for (const Value* value : captured_values(*region)) {
      const auto content = content_of(value, known_);
      if (!content) return std::nullopt;
      if (value->is_constant())
        twins[value] = graph.add_constant(value->name, *content);
      else
        add_input(*value, *content);
    }
    for (const auto& value : region->values()) {
      if (value->is_constant() && !twins.contains(value.get()))
        twins[value.get()] = graph.add_constant(value->name, *value->constant);
    }
    for (const auto& node : region->nodes()) {
      for (const Value* output : node->outputs) {
        if (output != nullptr) twins[output] = graph.add_value(output->name, output->type);
      }
      graph.add_node(clone(*node, twins, &graph));
    }
    for (const Value* output : region->outputs) graph.outputs.push_back(twins.at(output));
    return alone;
  }

  const Node& node_;
  const Model& model_;
  const NamedData& known_;
  const size_t most_;
  std::vector<RegionRun> runs_;
};

}  // namespace

std::vector<RegionRun> region_runs(const Node& node, const Model& model, const NamedData& known,
                                   size_t most) {
  return RegionRuns(node, model, known, most).run();
}

std::optional<ReproCase> with_own_outputs(const ReproCase& alone) {
  ReproCase result = copy(alone);
  std::vector<Value*> own;
  for (Value* output : result.model.graph->outputs) {
    if (output->producer() != nullptr && std::find(own.begin(), own.end(), output) == own.end())
      own.push_back(output);
  }
  if (own.empty()) return std::nullopt;
  result.model.graph->outputs = std::move(own);
  return result;
}

}  // namespace vernier
