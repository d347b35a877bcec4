// Replaces what does not depend on the inputs by its value. The reference computes it, so nothing is rounded
// otherwise than the model says.
#include "vernier/ops/evaluate.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// A constant that grew beyond its operands would only make the engine larger, e.g. of ConstantOfShape and
// Expand.
constexpr size_t kMaxGrowth = size_t{1} << 20;

bool is_input(const Value* value) {
  const auto& inputs = value->graph().inputs;
  return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
}

bool is_foldable(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr || (def->traits & (ops::kNondeterministic | ops::kControlFlow)) != 0 ||
      !node.regions.empty())
    return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [](const Value* input) {
    return input == nullptr || (input->is_constant() && !is_input(input));
  });
}

std::vector<Datum> evaluate(const Node& node) {
  std::vector<const Tensor*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(input == nullptr ? nullptr : &*input->constant);
  return ops::evaluate(node, inputs);
}

size_t input_bytes(const Node& node) {
  size_t bytes = 0;
  for (const Value* input : node.inputs) bytes += input == nullptr ? 0 : input->constant->byte_size();
  return bytes;
}

bool is_graph_output(const Graph& graph, const Value* value) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), value) != graph.outputs.end();
}

// The output gets a constant of its own; its users read that.
void make_constant(Graph& graph, FreeNames& names, Value* output, Tensor content) {
  Value* constant = graph.add_constant(names.take(output->name + "/constant"), std::move(content));
  graph.replace_uses(output, constant);
  if (is_graph_output(graph, constant)) constant->name = output->name;
}

int fold(Graph& graph, const std::unordered_map<const Value*, Tensor>& contents, bool keeps_integers) {
  int folded = 0;
  std::set<const Node*> dead;
  std::optional<FreeNames> names;
  for (const auto& node : graph.nodes()) {
    bool known = !node->outputs.empty() && node->regions.empty();
    for (const Value* output : node->outputs) {
      known = known && (output == nullptr || (contents.contains(output) && !is_graph_output(graph, output)));
    }
    if (keeps_integers && node->op == "DequantizeLinear") continue;
    std::vector<Datum> results;
    if (known) {
      for (const Value* output : node->outputs)
        results.push_back(output == nullptr ? Datum() : Datum(contents.at(output)));
    } else if (is_foldable(*node)) {
      try {
        results = evaluate(*node);
      } catch (const Error&) {
        continue;  // it fails when it runs, if it runs
      }
      size_t bytes = 0;
      bool tensors = true;
      for (const Datum& result : results) {
        tensors = tensors && result.is_tensor();
        bytes += result.is_tensor() && result.tensor.is_defined() ? result.tensor.byte_size() : 0;
      }
      if (!tensors || bytes > kMaxGrowth + input_bytes(*node)) continue;
    } else {
      continue;
    }
    if (!names) names.emplace(graph);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      if (node->outputs[i] != nullptr) make_constant(graph, *names, node->outputs[i], results[i].tensor);
    }
    dead.insert(node.get());
    ++folded;
  }
  std::set<const Value*> gone;
  for (const Node* node : dead) gone.insert(node->outputs.begin(), node->outputs.end());
  gone.erase(nullptr);
  graph.remove_nodes(dead);
  graph.remove_values(gone);
  return folded;
}

int fold_all(Graph& graph, bool keeps_integers) {
  const auto report = ops::infer_types(graph);
  int folded = 0;
  for_each_graph(graph, [&](Graph& inner) { folded += fold(inner, report.contents, keeps_integers); });
  return folded;
}

}  // namespace

Pass fold_constants(bool keeps_integers) {
  return {"fold-constants", NumericalClass::kExact,
          [keeps_integers](Graph& graph) { return fold_all(graph, keeps_integers); }};
}

}  // namespace vernier
