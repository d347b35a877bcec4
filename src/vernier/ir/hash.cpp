#include "vernier/ir/hash.h"

#include <unordered_map>

#include "vernier/base/hash.h"
#include "vernier/ir/text.h"

namespace vernier {

namespace {

class Hasher {
 public:
  explicit Hasher(const std::function<uint64_t(const Tensor&)>& hash_of_constant)
      : hash_of_constant_(hash_of_constant) {}

  uint64_t graph(const Graph& graph) {
    uint64_t sum = hash_combine(graph.inputs.size(), graph.outputs.size());
    for (const Value* input : graph.inputs) {
      sum = hash_combine(sum, hash_text(input->type.text()));
      number(input);
    }
    for (const auto& node : graph.nodes()) sum = hash_combine(sum, this->node(*node));
    for (const Value* output : graph.outputs) sum = hash_combine(sum, value(output));
    return sum;
  }

 private:
  void number(const Value* value) { numbers_.try_emplace(value, numbers_.size() + 1); }

  uint64_t value(const Value* value) {
    if (value == nullptr) return 0;
    if (value->is_constant()) return hash_of_constant_(*value->constant);
    return numbers_.at(value);
  }

  uint64_t node(const Node& node) {
    uint64_t sum = hash_text(node.qualified_op(), static_cast<uint64_t>(node.version));
    for (const auto& [name, attribute] : node.attributes)
      sum = hash_combine(sum, hash_text(name + "=" + attribute_text(attribute)));
    for (const Value* input : node.inputs) sum = hash_combine(sum, value(input));
    for (const auto& [name, region] : node.regions)
      sum = hash_combine(hash_combine(sum, hash_text(name)), graph(*region));
    for (const Value* output : node.outputs) {
      sum = hash_combine(sum, output != nullptr);
      if (output != nullptr) number(output);
    }
    return sum;
  }

  const std::function<uint64_t(const Tensor&)>& hash_of_constant_;
  std::unordered_map<const Value*, uint64_t> numbers_;
};

}  // namespace

uint64_t hash_tensor(const Tensor& tensor) {
  uint64_t sum = hash_text(element_type_name(tensor.type()), 0);
  for (const int64_t dim : tensor.dims()) sum = hash_combine(sum, static_cast<uint64_t>(dim));
  if (tensor.type() == ElementType::kString) {
    for (const auto& text : tensor.values<std::string>()) sum = hash_combine(sum, hash_text(text));
    return sum;
  }
  return hash_bytes(tensor.raw(), tensor.byte_size(), sum);
}

uint64_t structural_hash(const Graph& graph) {
  return structural_hash(graph, hash_tensor);
}

uint64_t structural_hash(const Graph& graph, const std::function<uint64_t(const Tensor&)>& hash_of_constant) {
  return Hasher(hash_of_constant).graph(graph);
}

}  // namespace vernier
