#include "vernier/engine/sizes/ranged_graph.h"

#include <unordered_map>

#include "vernier/base/hash.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// Expressions at given values of their symbols. Equal expressions are one object, and each is evaluated once.
class Evaluation {
 public:
  explicit Evaluation(SymbolValues symbols) : symbols_(std::move(symbols)) {}

  std::optional<int64_t> value(const Dim& dim) {
    if (dim.is_constant()) return dim.constant();
    const auto [found, is_new] = values_.try_emplace(dim.expression());
    if (is_new) found->second = dim.evaluate(symbols_);
    return found->second;
  }

 private:
  SymbolValues symbols_;
  std::unordered_map<const Dim::Expression*, std::optional<int64_t>> values_;
};

// What the sizes at hand say of the symbols; nothing if they contradict each other.
std::optional<SymbolValues> symbols_of(const Graph& graph, const std::vector<ValueType>& inputs) {
  SymbolValues symbols;
  std::vector<std::pair<Dim, int64_t>> expressions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = graph.inputs[i]->type;
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

void evaluate_types(Graph& graph, Evaluation& at) {
  for_each_graph(graph, [&](Graph& inner) {
    for (const auto& value : inner.values()) {
      if (value->is_constant() || !value->type.is_tensor() || !value->type.tensor.shape) continue;
      for (Dim& dim : *value->type.tensor.shape) {
        if (const auto size = at.value(dim)) dim = *size;
      }
    }
  });
}

// What inference of a node looks at: types of operands, and contents of small ones.
uint64_t operands_of(const Node& node, size_t place) {
  constexpr size_t kSmall = 512;  // bytes
  uint64_t hash = hash_text(node.op, place);
  for (const Value* input : node.inputs) {
    hash = hash_combine(hash, 0);
    if (input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (const Dim& dim : *input->type.tensor.shape)
      hash = hash_combine(hash, static_cast<uint64_t>(dim.constant().value_or(-1)));
    if (input->is_constant() && input->constant->type() != ElementType::kString &&
        input->constant->byte_size() <= kSmall)
      hash = hash_bytes(input->constant->raw(), input->constant->byte_size(), hash);
  }
  return hash;
}

bool is_output(const Graph& graph, const Value* value) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), value) != graph.outputs.end();
}

}  // namespace

RangedGraph::RangedGraph(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {
  replace_contents();
}

void RangedGraph::replace_contents() {
  const auto report = ops::infer_types(*graph_);
  for (const auto& node : graph_->nodes()) {
    for (Value* output : node->outputs) {
      const auto found = report.sizes.find(output);
      if (output == nullptr || found == report.sizes.end() || is_output(*graph_, output)) continue;
      const auto dims = to_dims(*output->type.tensor.shape);
      Value* content =
          graph_->add_constant(output->name + "/sizes", Tensor(output->type.tensor.element, *dims));
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

std::unique_ptr<Graph> RangedGraph::at(const std::vector<ValueType>& inputs) const {
  auto symbols = symbols_of(*graph_, inputs);
  if (!symbols) return nullptr;
  Evaluation evaluation(std::move(*symbols));
  ValueMap copies;
  auto copy = clone(*graph_, copies);
  evaluate_types(*copy, evaluation);
  for (size_t i = 0; i < inputs.size(); ++i) copy->inputs[i]->type = inputs[i];
  for (const Content& content : contents_) {
    std::vector<int64_t> elements;
    for (const Dim& dim : content.elements) {
      const auto element = evaluation.value(dim);
      if (!element) return nullptr;
      elements.push_back(*element);
    }
    const Tensor& like = *content.value->constant;
    Tensor& filled = *copies.at(content.value)->constant;
    if (is_float(like.type()))
      filled = Tensor::from_doubles(like.type(), like.dims(),
                                    std::vector<double>(elements.begin(), elements.end()));
    else
      filled = Tensor::from_ints(like.type(), like.dims(), elements);
  }
  return fits(*copy) ? std::move(copy) : nullptr;
}

// Whether the sizes fit the nodes. Expressions do not tell: that the columns of an operand are as many as the
// rows of a constant, say, is for inference to see. A node whose operands had these sizes before is not asked
// again.
bool RangedGraph::fits(Graph& copy) const {
  constexpr size_t kMostKept = 1 << 16;
  std::vector<uint64_t> checked;
  size_t at = 0;
  const auto is_known = [&](const Node& node) {
    const uint64_t operands = operands_of(node, at++);
    if (!node.regions.empty() && !ops::is_group(node)) return true;  // bodies are inferred when they run
    const std::lock_guard lock(mutex_);
    if (fitting_.contains(operands)) return true;
    checked.push_back(operands);
    return false;
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
