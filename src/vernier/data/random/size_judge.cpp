#include "vernier/data/random/size_judge.h"

#include <algorithm>

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// Multiplications that cost as much as making one element.
constexpr double kElementCost = 50;
// As drawing one of an input.
constexpr double kDrawingCost = 150;

bool sums_products(const Node& node) {
  constexpr std::string_view kOps[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
  return std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps);
}

const Shape* shape_of(const Value* value) {
  const bool known = value != nullptr && value->type.is_tensor() && value->type.tensor.shape;
  return known ? &*value->type.tensor.shape : nullptr;
}

}  // namespace

SizeJudge::SizeJudge(const Graph& graph) {
  for_each_graph(graph, [&](const Graph& inner) {
    for (const Value* input : inner.inputs) {
      Term drawn{kDrawingCost, {}};
      const bool is_sized = add_sizes(drawn, input);
      if (is_sized && &inner == &graph) terms_.push_back(std::move(drawn));
    }
    for (const auto& node : inner.nodes()) {
      for (size_t i = 0; i < node->outputs.size(); ++i) {
        Term elements;
        if (!add_sizes(elements, node->outputs[i])) continue;
        Term products = elements;
        elements.factor *= kElementCost;
        terms_.push_back(std::move(elements));
        if (i > 0 || !sums_products(*node)) continue;
        add_depth(products, *node);
        terms_.push_back(std::move(products));
      }
    }
  });
}

std::optional<double> SizeJudge::work(const SymbolValues& symbols) const {
  std::vector<double> sizes;
  for (const Dim& dim : dims_) {
    const int64_t size = dim.evaluate(symbols).value_or(1);
    if (size < 1) return std::nullopt;
    sizes.push_back(static_cast<double>(size));
  }
  double work = 0;
  for (const Term& term : terms_) {
    double product = term.factor;
    for (const size_t at : term.dims) product *= sizes[at];
    work += product;
  }
  return work;
}

void SizeJudge::add_size(Term& term, const Dim& dim) {
  if (const auto size = dim.constant()) {
    term.factor *= static_cast<double>(std::max<int64_t>(*size, 0));
    return;
  }
  const auto found = std::find(dims_.begin(), dims_.end(), dim);
  term.dims.push_back(static_cast<size_t>(found - dims_.begin()));
  if (found == dims_.end()) dims_.push_back(dim);
}

bool SizeJudge::add_sizes(Term& term, const Value* value) {
  const Shape* shape = shape_of(value);
  if (shape == nullptr) return false;
  for (const Dim& dim : *shape) add_size(term, dim);
  return true;
}

// The products that one element of the output is a sum of.
void SizeJudge::add_depth(Term& term, const Node& node) {
  const Shape *first = shape_of(node.input(0)), *second = shape_of(node.input(1));
  if (node.op == "MatMul" || node.op == "Gemm") {
    if (first != nullptr && !first->empty())
      add_size(term, ops::integer_attribute(node, "transA") != 0 ? first->front() : first->back());
    return;
  }
  if (second == nullptr || second->empty()) return;
  // Of weights [outputs, inputs / groups, kernel…]; recurrent ones are [directions, gates * hidden, inputs].
  for (size_t axis = node.op == "ConvTranspose" ? 2 : 1; axis < second->size(); ++axis)
    add_size(term, (*second)[axis]);
  if (node.op == "ConvTranspose") add_size(term, second->front());
}

}  // namespace vernier
