#include "vernier/data/random/size_judge.h"

#include <algorithm>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// Multiplications that cost as much as making one element.
constexpr double kElementCost = 50;
// As drawing one of an input.
constexpr double kDrawingCost = 150;

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
        if (node->op == "Det") add_elimination(*node);
        if (i > 0 || !ops::has_trait(*node, ops::kContraction)) continue;
        add_depth(products, *node);
        terms_.push_back(std::move(products));
        const bool transposed = ops::output_channel_axis(*node, 0) != 0;
        if (ops::has_trait(*node, ops::kConvolution) && !transposed) add_columns(*node);
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
  const Shape* first = shape_of(node.input(0));
  const Shape* second = shape_of(node.input(ops::input_of(node, ops::Role::kWeight).value_or(1)));
  if (ops::has_trait(node, ops::kContraction) && ops::has_trait(node, ops::kNormalisation)) {
    // [batch, heads, keys, size] or [batch, keys, size]
    const Shape* keys = second == nullptr ? first : second;
    if (keys != nullptr && keys->size() > 2) add_size(term, (*keys)[keys->size() - 2]);
    return;
  }
  if (!ops::has_trait(node, ops::kConvolution | ops::kRecurrent)) {
    if (first != nullptr && !first->empty())
      add_size(term, ops::integer_attribute(node, "transA") != 0 ? first->front() : first->back());
    return;
  }
  if (second == nullptr || second->empty()) return;
  // Recurrent weights are [directions, gates * hidden, inputs].
  const auto rank = static_cast<int64_t>(second->size()),
             without = ops::output_channel_axis(node, rank).value_or(0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis != without) add_size(term, (*second)[static_cast<size_t>(axis)]);
  }
}

// The elements of the windows, which are copied before they are multiplied: that takes longer than to
// multiply them by the few outputs of some convolutions.
void SizeJudge::add_columns(const Node& node) {
  Term columns{kElementCost * static_cast<double>(ops::integer_attribute(node, "group")), {}};
  const Shape& images = *shape_of(node.output(0));
  for (size_t axis = 0; axis < images.size(); ++axis) {
    if (axis != 1) add_size(columns, images[axis]);
  }
  add_depth(columns, node);
  terms_.push_back(std::move(columns));
}

// Eliminates the rows of square matrices by plain loops: a third of the cube of their size, each as long as
// ten multiplications.
void SizeJudge::add_elimination(const Node& node) {
  Term steps{10.0 / 3, {}};
  if (!add_sizes(steps, node.input(0)) || shape_of(node.input(0))->empty()) return;
  add_size(steps, shape_of(node.input(0))->back());
  terms_.push_back(std::move(steps));
}

}  // namespace vernier
