// Queries, keys and values that an Attention reads are often three products of the same rows: one product of
// the rows with all columns, which Split cuts. Each column is summed as before.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/tf32.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// Up to as many, one product was measured to be up to a fifth faster than three, and with 128 no faster: then
// the weights are what counts, and each is read once in any case.
constexpr int64_t kFewRows = 64;
constexpr int64_t kMatMulOpset = 13, kAddOpset = 14, kConcatOpset = 13, kSplitOpset = 18;

// rows * weights, or rows * weights + bias.
struct Projection {
  Node* product = nullptr;
  Node* sum = nullptr;
  Value *rows = nullptr, *weights = nullptr, *bias = nullptr;
  Value* output = nullptr;

  int64_t columns() const { return weights->constant->dims()[1]; }
  ElementType type() const { return weights->constant->type(); }
};

std::optional<Projection> projection(const Uses& uses, Value* output) {
  Projection result;
  result.output = output;
  result.product = maker(output, "MatMul");
  if (Node* sum = maker(output, "Add")) {
    for (const size_t side : {0, 1}) {
      Value *product = sum->input(side), *bias = sum->input(1 - side);
      if (!bias->is_constant() || maker(product, "MatMul") == nullptr || uses.only_reader(product) != sum)
        continue;
      result.product = product->producer();
      result.sum = sum;
      result.bias = bias;
    }
  }
  if (result.product == nullptr) return std::nullopt;
  result.rows = result.product->input(0);
  result.weights = result.product->input(1);
  if (!result.weights->is_constant() || result.weights->constant->rank() != 2) return std::nullopt;
  if (result.bias != nullptr && result.bias->constant->dims() != Dims{result.columns()}) return std::nullopt;
  return result;
}

bool has_few_rows(const Value* rows) {
  const auto sizes = sizes_of(rows);
  return !sizes || element_count(Dims(sizes->begin(), sizes->end() - 1)) <= kFewRows;
}

bool can_join(const Projection& a, const Projection& b) {
  return a.rows == b.rows && a.type() == b.type() &&
         ops::may_round_to_tf32(*a.product) == ops::may_round_to_tf32(*b.product);
}

// The three that an attention reads, if they can be one.
std::vector<Projection> projections(const Uses& uses, const Node& attention) {
  std::vector<Projection> found;
  for (size_t i = 0; i < 3; ++i) {
    Value* operand = attention.input(i);
    if (operand == nullptr || uses.only_reader(operand) != &attention) return {};
    auto one = projection(uses, operand);
    if (!one || rank_of(one->rows) != 3 || !has_few_rows(one->rows)) return {};
    if (!found.empty() && !can_join(*one, found[0])) return {};
    found.push_back(*one);
  }
  return found;
}

// Makes the bias of a product that has none: the one number that changes no other, not even -0.
Value* no_bias(Graph& graph, const Projection& projection) {
  const std::vector<double> values(static_cast<size_t>(projection.columns()), -0.0);
  return graph.add_constant(free_name(graph, projection.output->name + "/no_bias"),
                            Tensor::from_doubles(projection.type(), {projection.columns()}, values));
}

void join(Graph& graph, const std::vector<Projection>& parts) {
  const bool biased =
      std::any_of(parts.begin(), parts.end(), [](const Projection& part) { return part.sum != nullptr; });
  const auto added = [&](const char* what) {
    return graph.add_value(free_name(graph, parts[0].output->name + what));
  };
  std::vector<Value*> weights, biases, outputs;
  std::vector<int64_t> columns;
  std::vector<Node*> old;
  for (const Projection& part : parts) {
    weights.push_back(part.weights);
    if (biased) biases.push_back(part.bias != nullptr ? part.bias : no_bias(graph, part));
    outputs.push_back(part.output);
    columns.push_back(part.columns());
    old.push_back(part.product);
    if (part.sum != nullptr) old.push_back(part.sum);
  }
  std::vector<std::unique_ptr<Node>> made;
  const auto concat = [&](const std::vector<Value*>& values, int64_t axis, const char* what) {
    made.push_back(make_node("Concat", kConcatOpset, values, added(what)));
    made.back()->attributes["axis"] = Attribute(axis);
    return made.back()->output(0);
  };
  Value* all_weights = concat(weights, 1, "/weights");
  made.push_back(make_node("MatMul", kMatMulOpset, {parts[0].rows, all_weights}, added("/product")));
  if (ops::may_round_to_tf32(*parts[0].product)) ops::let_round_to_tf32(*made.back());
  Value* product = made.back()->output(0);
  if (biased) {
    Value* all_biases = concat(biases, 0, "/bias");
    made.push_back(make_node("Add", kAddOpset, {product, all_biases}, added("/joined")));
    product = made.back()->output(0);
  }
  Value* sizes = graph.add_constant(
      free_name(graph, parts[0].output->name + "/columns"),
      Tensor::from<int64_t>(ElementType::kInt64, {static_cast<int64_t>(columns.size())}, columns));
  made.push_back(make_node("Split", kSplitOpset, {product, sizes}, outputs[0]));
  made.back()->attributes["axis"] = Attribute(int64_t{2});
  made.back()->outputs = outputs;
  Rewriter(graph).replace(old, std::move(made));
}

int join_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::vector<Projection>> found;
  for (const auto& node : graph.nodes()) {
    if (!is_attention(*node) || node->outputs.size() != 1) continue;
    if (auto parts = projections(uses, *node); !parts.empty()) found.push_back(std::move(parts));
  }
  for (const auto& parts : found) join(graph, parts);
  return static_cast<int>(found.size());
}

}  // namespace

Pass join_products() {
  return {"join-products", NumericalClass::kExact, join_in};
}

}  // namespace vernier
