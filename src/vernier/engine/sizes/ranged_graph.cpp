#include "vernier/engine/sizes/ranged_graph.h"

#include "vernier/base/hash.h"
#include "vernier/engine/sizes/size_evaluation.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

void evaluate_types(Graph& graph, SizeEvaluation& at) {
  for_each_graph(graph, [&](Graph& inner) {
    for (const auto& value : inner.values()) {
      if (value->is_constant() || !value->type.is_tensor() || !value->type.tensor.shape) continue;
      for (Dim& dim : *value->type.tensor.shape) {
        if (const auto size = at.value(dim)) dim = *size;
      }
    }
  });
}

// Types of the operands, and contents: of large ones, which no sizes follow from, which they are.
uint64_t operands_of(const Node& node, uint64_t hash) {
  constexpr size_t kSmall = 512;  // bytes
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      hash = hash_combine(hash, value == nullptr ? 0 : static_cast<uint64_t>(value->type.tensor.element) + 1);
      if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) continue;
      for (const Dim& dim : *value->type.tensor.shape)
        hash = hash_combine(hash, static_cast<uint64_t>(dim.constant().value_or(-1)));
      if (!value->is_constant() || value->constant->type() == ElementType::kString) continue;
      const Tensor& content = *value->constant;
      hash = content.byte_size() <= kSmall
                 ? hash_bytes(content.raw(), content.byte_size(), hash)
                 : hash_combine(hash, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(content.identity())));
    }
  }
  return hash;
}

const Value* first_output(const Node& node) {
  const auto found = std::find_if(node.outputs.begin(), node.outputs.end(),
                                  [](const Value* output) { return output != nullptr; });
  return found == node.outputs.end() ? nullptr : *found;
}

bool is_output(const Graph& graph, const Value* value) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), value) != graph.outputs.end();
}

}  // namespace

RangedGraph::RangedGraph(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {
  replace_contents();
  for (const auto& node : graph_->nodes()) {
    if (const Value* output = first_output(*node)) structures_[output->name] = ops::structure_of(*node);
  }
}

void RangedGraph::replace_contents() {
  const auto report = ops::infer_types(*graph_);
  FreeNames names(*graph_);
  for (const auto& node : graph_->nodes()) {
    for (Value* output : node->outputs) {
      const auto found = report.sizes.find(output);
      if (output == nullptr || found == report.sizes.end() || is_output(*graph_, output)) continue;
      const auto dims = to_dims(*output->type.tensor.shape);
      Value* content = graph_->add_constant(names.take(output->name + "/sizes"),
                                            Tensor(output->type.tensor.element, *dims));
      graph_->replace_uses(output, content);
      contents_.push_back({content, found->second});
    }
  }
  remove_dead_code().run(*graph_);
  std::erase_if(contents_, [&](const Content& content) {
    return std::none_of(graph_->values().begin(), graph_->values().end(),
                        [&](const auto& value) { return value.get() == content.value; });
  });
}

std::optional<SymbolValues> RangedGraph::symbols(const std::vector<ValueType>& inputs) const {
  SymbolValues symbols;
  std::vector<std::pair<Dim, int64_t>> expressions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = graph_->inputs[i]->type;
    if (!type.is_tensor() || !type.tensor.shape || !inputs[i].tensor.shape) continue;
    const auto dims = to_dims(*inputs[i].tensor.shape);
    if (!dims || dims->size() != type.tensor.shape->size()) return std::nullopt;
    for (size_t axis = 0; axis < dims->size(); ++axis) {
      const Dim& dim = (*type.tensor.shape)[axis];
      const int64_t size = (*dims)[axis];
      if (!dim.is_symbol())
        expressions.emplace_back(dim, size);
      else if (const auto [found, is_new] = symbols.emplace(*dim.symbols().begin(), size);
               !is_new && found->second != size)
        return std::nullopt;
    }
  }
  for (const auto& [dim, size] : expressions) {
    if (dim.evaluate(symbols) != size) return std::nullopt;
  }
  return symbols;
}

std::optional<SizedGraph> RangedGraph::at(const std::vector<ValueType>& inputs) const {
  auto symbols = this->symbols(inputs);
  if (!symbols) return std::nullopt;
  SizeEvaluation evaluation(*symbols);
  ValueMap copies;
  auto copy = clone(*graph_, copies);
  evaluate_types(*copy, evaluation);
  for (size_t i = 0; i < inputs.size(); ++i) copy->inputs[i]->type = inputs[i];
  for (const Content& content : contents_) {
    auto filled = evaluation.tensor(content.elements, *content.value->constant);
    if (!filled) return std::nullopt;
    *copies.at(content.value)->constant = std::move(*filled);
  }
  if (!fits(*copy)) return std::nullopt;
  return sized(std::move(copy), copies, std::move(*symbols));
}

// Whether the sizes fit the nodes. Expressions do not tell: that the columns of an operand are as many as the
// rows of a constant, say, is for inference to see. A node is not asked again whose operands had these sizes
// before, and neither is its like, such as that of another layer.
bool RangedGraph::fits(Graph& copy, const std::unordered_set<const Node*>* among) const {
  constexpr size_t kMostKept = 1 << 16;
  std::unordered_set<uint64_t> checked;
  const auto is_known = [&](const Node& node) {
    if (!node.regions.empty() && !ops::is_group(node)) return true;  // bodies are inferred when they run
    if (among != nullptr && !among->contains(&node)) return true;
    const Value* output = first_output(node);
    if (output == nullptr) return false;
    const uint64_t operands = operands_of(node, structures_.at(output->name));
    const std::lock_guard lock(mutex_);
    return fitting_.contains(operands) || !checked.insert(operands).second;
  };
  try {
    ops::check_types(copy, is_known);
  } catch (const Error&) {
    return false;  // the model at these sizes says why
  }
  const std::lock_guard lock(mutex_);
  if (fitting_.size() + checked.size() > kMostKept) fitting_.clear();
  fitting_.insert(checked.begin(), checked.end());
  return true;
}

}  // namespace vernier
