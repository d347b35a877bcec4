#include "vernier/passes/recognition/row_normalisation.h"

#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/recognition/reduction_match.h"

namespace vernier {

namespace {

// The first of the trailing axes that a ReduceMean takes and keeps; nothing for other axes.
std::optional<int64_t> trailing_axis(const Node& mean) {
  const auto axes = reduced_axes_of(mean);
  if (!axes || axes->empty() || !keeps_axes(mean)) return std::nullopt;
  const int64_t rank = rank_of(mean.input(0)), first = axes->front();
  return first + static_cast<int64_t>(axes->size()) == rank ? std::optional(first) : std::nullopt;
}

// variance + epsilon under a root: what the rows are divided by, or multiplied with.
struct Deviation {
  Value* variance = nullptr;
  double epsilon = 0;
  std::vector<Node*> members;
};

// `inverse` tells whether `value` is to be 1 / sqrt(…) or sqrt(…).
std::optional<Deviation> match_deviation(Value* value, bool inverse) {
  Deviation result;
  if (Node* power = maker(value, "Pow");
      power != nullptr && is_scalar(power->input(1), inverse ? -0.5 : 0.5)) {
    result.members.push_back(power);
    value = power->input(0);
  } else {
    if (inverse) {
      Node* reciprocal = maker(value, "Reciprocal");
      Node* quotient = maker(value, "Div");
      if (quotient != nullptr && is_scalar(quotient->input(0), 1)) {
        value = quotient->input(1);
        reciprocal = quotient;
      } else if (reciprocal != nullptr) {
        value = reciprocal->input(0);
      } else {
        return std::nullopt;
      }
      result.members.push_back(reciprocal);
    }
    Node* root = maker(value, "Sqrt");
    if (root == nullptr) return std::nullopt;
    result.members.push_back(root);
    value = root->input(0);
  }
  const auto sum = sum_with_scalar(value);
  // The attribute of the normalisation is a float: an epsilon of doubles that is none would be rounded.
  if (!sum || sum->scalar < 0 || sum->scalar != static_cast<float>(sum->scalar)) return std::nullopt;
  result.members.push_back(sum->node);
  result.variance = sum->value;
  result.epsilon = sum->scalar;
  return result;
}

// Takes in a Mul or Add that follows with one number for each element of a row.
Value* take_vector(RowNormalisation& match, const Uses& uses, const char* op) {
  const Value* now = match.members.back()->output(0);
  Node* next = uses.only_reader(now);
  if (next == nullptr || next->op != op || !next->domain.empty()) return nullptr;
  Value* vector = other_operand(*next, now);
  if (vector == nullptr || !same_type(next->output(0), now) || rank_of(vector) < 1) return nullptr;
  const Shape &row = *vector->type.tensor.shape, &whole = *now->type.tensor.shape;
  const size_t from = static_cast<size_t>(match.axis);
  if (vector->type.tensor.element != now->type.tensor.element || row.size() != whole.size() - from ||
      !std::equal(row.begin(), row.end(), whole.begin() + match.axis))
    return nullptr;
  match.members.push_back(next);
  return vector;
}

// The row that is divided, and what it is divided by.
std::optional<std::pair<Value*, Deviation>> match_quotient(Node* node) {
  if (node->op == "Div") {
    if (auto deviation = match_deviation(node->input(1), false)) return std::pair(node->input(0), *deviation);
  }
  for (const size_t side : {1, 0}) {
    if (node->op != "Mul") break;
    if (auto deviation = match_deviation(node->input(side), true))
      return std::pair(node->input(1 - side), *deviation);
  }
  return std::nullopt;
}

}  // namespace

std::optional<RowNormalisation> match_row_normalisation(Node* node, const Uses& uses, bool centred) {
  if (!node->domain.empty() || node->inputs.size() != 2) return std::nullopt;
  auto quotient = match_quotient(node);
  if (!quotient) return std::nullopt;
  auto& [row, deviation] = *quotient;
  Node* mean_square = maker(deviation.variance, "ReduceMean");
  const auto squares = mean_square == nullptr ? std::nullopt : square(mean_square->input(0));
  if (!squares || squares->value != row || !same_type(row, node->output(0))) return std::nullopt;
  const auto axis = trailing_axis(*mean_square);
  if (!axis || !is_float(row->type.tensor.element)) return std::nullopt;
  RowNormalisation match{row, nullptr, nullptr, *axis, deviation.epsilon, deviation.members};
  match.members.insert(match.members.end(), {mean_square, squares->node});
  if (centred) {
    Node* away = maker(row, "Sub");
    Node* mean = away == nullptr ? nullptr : maker(away->input(1), "ReduceMean");
    if (mean == nullptr || mean->input(0) != away->input(0) || trailing_axis(*mean) != axis ||
        !same_type(row, mean->input(0)))
      return std::nullopt;
    match.x = away->input(0);
    match.members.insert(match.members.end(), {away, mean});
  }
  match.members.push_back(node);
  match.scale = take_vector(match, uses, "Mul");
  if (centred && match.scale != nullptr) match.bias = take_vector(match, uses, "Add");
  return match;
}

int recognise_row_normalisations(Graph& graph, bool centred, const std::string& op, int64_t version) {
  const Uses uses(graph);
  std::vector<RowNormalisation> found;
  for (const auto& node : graph.nodes()) {
    auto match = match_row_normalisation(node.get(), uses, centred);
    if (!match || !is_private(uses, match->members)) continue;
    const auto dims = sizes_of(match->x);
    if (match->scale == nullptr && !dims) continue;
    found.push_back(std::move(*match));
  }
  for (auto& match : found) {
    if (match.scale == nullptr) {
      const Dims dims = *sizes_of(match.x), row(dims.begin() + match.axis, dims.end());
      const std::vector<double> ones(static_cast<size_t>(element_count(row)), 1.0);
      match.scale = graph.add_constant(free_name(graph, match.members.back()->output(0)->name + "/scale"),
                                       Tensor::from_doubles(match.x->type.tensor.element, row, ones));
    }
    std::vector<Value*> inputs{match.x, match.scale};
    if (match.bias != nullptr) inputs.push_back(match.bias);
    const int64_t from_end = match.axis - rank_of(match.x);
    replace_with(graph, match.members, op, version, inputs,
                 {{"axis", Attribute(from_end)}, {"epsilon", Attribute(static_cast<float>(match.epsilon))}});
  }
  return static_cast<int>(found.size());
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, operator by operator, is one LayerNormalization.
Pass recognise_layer_norm() {
  return {"recognise-layer-norm", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) {
              found += recognise_row_normalisations(inner, true, "LayerNormalization", 17);
            });
            return found;
          }};
}

// x / sqrt(mean square + epsilon) * scale, operator by operator, is one RMSNormalization. After
// recognise-layer-norm, whosen// pattern holds this one.
Pass recognise_rms_norm() {
  return {"recognise-rms-norm", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) {
              found += recognise_row_normalisations(inner, false, "RMSNormalization", 23);
            });
            return found;
          }};
}

}  // namespace vernier
