// Einsum of two operands -> Transpose, Reshape and MatMul, where each label either stays, or is summed over
// and occurs in both.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/einsum_equation.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

using Labels = ops::EinsumEquation::Labels;

constexpr int64_t kMatMulOpset = 13;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool is_distinct(const Labels& labels) {
  return std::set<int>(labels.begin(), labels.end()).size() == labels.size();
}

Labels joined(std::initializer_list<Labels> groups) {
  Labels all;
  for (const Labels& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// y[batch, rows, columns] = sum over shared of a[batch, rows, shared] * b[batch, shared, columns]
struct Contraction {
  Node* node = nullptr;
  Value *a = nullptr, *b = nullptr;
  Labels a_labels, b_labels, output;
  Labels batch, rows, shared, columns;
  std::map<int, Dim> sizes;

  // Whether matrices are what the operands are but for the order of their axes.
  bool is_plain() const { return rows.size() == 1 && shared.size() == 1 && columns.size() == 1; }
  // Counts the transposes of the operands and of the product.
  int transposes() const {
    return (a_labels != joined({batch, rows, shared}) ? 1 : 0) +
           (b_labels != joined({batch, shared, columns}) ? 1 : 0) +
           (output != joined({batch, rows, columns}) ? 1 : 0);
  }
  // The same product with the operands exchanged: y' = b' * a'.
  Contraction exchanged() const {
    Contraction other = *this;
    std::swap(other.a, other.b);
    std::swap(other.a_labels, other.b_labels);
    std::swap(other.rows, other.columns);
    return other;
  }
};

// Sizes of all labels; false if a label has two, of which one would be broadcast.
bool add_sizes(const Value& value, const Labels& labels, std::map<int, Dim>& sizes) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const Dim& size = (*value.type.tensor.shape)[i];
    if (!(sizes.try_emplace(labels[i], size).first->second == size)) return false;
  }
  return true;
}

std::optional<Contraction> match(Node* node) {
  if (node->op != "Einsum" || !node->domain.empty() || node->inputs.size() != 2) return std::nullopt;
  const auto a_rank = known_rank(*node->input(0)), b_rank = known_rank(*node->input(1));
  if (!a_rank || !b_rank || !is_float(node->input(0)->type.tensor.element)) return std::nullopt;
  const auto equation = ops::parse_einsum(ops::text_attribute(*node, "equation"), {*a_rank, *b_rank});
  Contraction c;
  c.node = node;
  c.a = node->input(0);
  c.b = node->input(1);
  c.a_labels = equation.inputs[0];
  c.b_labels = equation.inputs[1];
  c.output = equation.output;
  if (!is_distinct(c.a_labels) || !is_distinct(c.b_labels)) return std::nullopt;
  // The operand whose own labels come first in the output has the rows.
  for (const int label : c.output) {
    if (has(c.a_labels, label) && has(c.b_labels, label)) continue;
    if (has(c.b_labels, label)) {
      std::swap(c.a, c.b);
      std::swap(c.a_labels, c.b_labels);
    }
    break;
  }
  if (!add_sizes(*c.a, c.a_labels, c.sizes) || !add_sizes(*c.b, c.b_labels, c.sizes)) return std::nullopt;
  for (const int label : c.output)
    (!has(c.b_labels, label) ? c.rows : !has(c.a_labels, label) ? c.columns : c.batch).push_back(label);
  for (const int label : c.a_labels) {
    if (has(c.output, label)) continue;
    if (!has(c.b_labels, label)) return std::nullopt;  // a sum of one operand
    c.shared.push_back(label);
  }
  for (const int label : c.b_labels) {
    if (!has(c.output, label) && !has(c.a_labels, label)) return std::nullopt;
  }
  const bool known = std::all_of(c.sizes.begin(), c.sizes.end(), [](const auto& each) {
    return each.second.is_constant() && *each.second.constant() != 0;
  });
  if (!c.is_plain() && !known) return std::nullopt;
  const Contraction other = c.exchanged();
  return other.transposes() < c.transposes() ? other : c;
}

class Lowering {
 public:
  Lowering(Graph& graph, const Contraction& contraction) : graph_(graph), c_(contraction) {}

  void run() {
    Value* a = matrices(c_.a, c_.a_labels, {c_.rows, c_.shared});
    Value* b = matrices(c_.b, c_.b_labels, {c_.shared, c_.columns});
    Value* result = c_.node->output(0);
    const Labels order = joined({c_.batch, c_.rows, c_.columns});
    const bool moves = order != c_.output, reshapes = !c_.is_plain();
    Value* product = moves || reshapes ? temporary("product") : result;
    made_.push_back(make_node("MatMul", kMatMulOpset, {a, b}, product));
    if (reshapes) {
      Value* unfolded = moves ? temporary("unfolded") : result;
      made_.push_back(make_reshape(graph_, product, dims_of(order), unfolded));
      product = unfolded;
    }
    if (moves) made_.push_back(make_transpose(product, permutation(order, c_.output), result));
    Rewriter(graph_).replace({c_.node}, std::move(made_));
  }

 private:
  Value* temporary(const std::string& what) {
    return graph_.add_value(free_name(graph_, c_.node->output(0)->name + "/" + what));
  }

  static std::vector<size_t> permutation(const Labels& from, const Labels& to) {
    std::vector<size_t> perm;
    for (const int label : to)
      perm.push_back(static_cast<size_t>(std::find(from.begin(), from.end(), label) - from.begin()));
    return perm;
  }

  Dims dims_of(const Labels& labels) const {
    Dims dims;
    for (const int label : labels) dims.push_back(*c_.sizes.at(label).constant());
    return dims;
  }

  // [batch…, first group, second group], each group as one axis.
  Value* matrices(Value* value, const Labels& labels, const std::array<Labels, 2>& groups) {
    const Labels order = joined({c_.batch, groups[0], groups[1]});
    if (order != labels) {
      Value* moved = temporary("moved");
      made_.push_back(make_transpose(value, permutation(labels, order), moved));
      value = moved;
    }
    if (c_.is_plain()) return value;
    Dims dims = dims_of(c_.batch);
    for (const Labels& group : groups) dims.push_back(element_count(dims_of(group)));
    Value* folded = temporary("folded");
    made_.push_back(make_reshape(graph_, value, dims, folded));
    return folded;
  }

  Graph& graph_;
  const Contraction& c_;
  std::vector<std::unique_ptr<Node>> made_;
};

int lower_in(Graph& graph) {
  std::vector<Contraction> found;
  for (const auto& node : graph.nodes()) {
    if (auto contraction = match(node.get())) found.push_back(std::move(*contraction));
  }
  for (const Contraction& contraction : found) Lowering(graph, contraction).run();
  return static_cast<int>(found.size());
}

}  // namespace

Pass lower_einsum() {
  return {"lower-einsum", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += lower_in(inner); });
            return found;
          }};
}

}  // namespace vernier
