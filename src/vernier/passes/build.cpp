#include "vernier/passes/build.h"

#include "vernier/ops/support/movement/permutation.h"

namespace vernier {

namespace {

constexpr int64_t kOpset = 14;  // Transpose and Reshape mean the same ever since

}  // namespace

FreeNames::FreeNames(const Graph& graph) {
  const Graph* root = &graph;
  while (root->parent() != nullptr) root = root->parent();
  for_each_graph(*root, [&](const Graph& inner) {
    for (const auto& value : inner.values()) taken_.insert(value->name);
  });
}

std::string FreeNames::take(std::string base) {
  while (!taken_.insert(base).second) base += "'";
  return base;
}

std::string free_name(const Graph& graph, std::string base) {
  return FreeNames(graph).take(std::move(base));
}

std::unique_ptr<Node> make_node(std::string op, int64_t version, std::vector<Value*> inputs, Value* output) {
  auto node = std::make_unique<Node>();
  node->name = output->name;
  node->op = std::move(op);
  node->version = version;
  node->inputs = std::move(inputs);
  node->outputs = {output};
  return node;
}

std::unique_ptr<Node> make_transpose(Value* from, const std::vector<size_t>& perm, Value* to) {
  auto node = make_node("Transpose", kOpset, {from}, to);
  node->attributes.emplace("perm", std::vector<int64_t>(perm.begin(), perm.end()));
  return node;
}

std::unique_ptr<Node> make_reshape(Graph& graph, Value* from, const Dims& dims, Value* to) {
  Value* sizes =
      graph.add_constant(free_name(graph, to->name + "/sizes"),
                         Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(dims.size())}, dims));
  return make_node("Reshape", kOpset, {from, sizes}, to);
}

std::optional<Dims> reshape_target(const Shape& from, const Shape& to) {
  constexpr int64_t kSame = 0, kFollows = -1;
  Dims target;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto known = to[i].constant();
    if (known && *known != 0)
      target.push_back(*known);
    else
      target.push_back(i < from.size() && from[i] == to[i] ? kSame : kFollows);
  }
  const auto following = std::count(target.begin(), target.end(), kFollows),
             same = std::count(target.begin(), target.end(), kSame);
  // Beside a size that stays, and may be 0, none would follow.
  return following == 0 || (following == 1 && same == 0) ? std::optional(target) : std::nullopt;
}

std::optional<Tensor> known_content(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const Node* maker = value->producer();
  if (maker == nullptr) {
    const auto& inputs = value->graph().inputs;
    const bool is_input = std::find(inputs.begin(), inputs.end(), value) != inputs.end();
    return is_input ? std::nullopt : value->constant;
  }
  if (!maker->domain.empty()) return std::nullopt;
  if (maker->op == "Identity") return known_content(maker->input(0));
  if (maker->op != "Constant" || maker->find_attribute("value") == nullptr) return std::nullopt;
  return maker->attribute<Tensor>("value", {});
}

std::optional<Dims> known_dims(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape) return std::nullopt;
  return to_dims(*value.type.tensor.shape);
}

std::optional<size_t> known_rank(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape) return std::nullopt;
  return value.type.tensor.shape->size();
}

std::optional<std::vector<size_t>> transposition(const Node* node) {
  if (node == nullptr || !node->domain.empty() || node->op != "Transpose") return std::nullopt;
  const auto rank = known_rank(*node->input(0));
  if (!rank) return std::nullopt;
  return ops::permutation_of(*node, *rank);
}

std::vector<size_t> inverse(const std::vector<size_t>& perm) {
  std::vector<size_t> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[perm[i]] = i;
  return result;
}

}  // namespace vernier
