// x / 2 * (1 + erf(x / sqrt(2))), and the same with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), in whatever
// order exporters write the products, are one Gelu.
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kGeluOpset = 20;
constexpr size_t kDegree = 3;
using Polynomial = std::array<double, kDegree + 1>;  // of x, from the constant on

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result{};
  for (size_t i = 0; i <= kDegree; ++i) {
    for (size_t k = 0; k <= kDegree; ++k) {
      if (a[i] == 0 || b[k] == 0) continue;
      if (i + k > kDegree) return std::nullopt;
      result[i + k] += a[i] * b[k];
    }
  }
  return result;
}

// Reads `value` as a polynomial of x, if it is one; `members` gets the nodes that compute it.
std::optional<Polynomial> polynomial(Value* value, const Value* x, std::vector<Node*>& members,
                                     int depth = 0) {
  if (value == x) return Polynomial{0, 1};
  if (const auto scalar = scalar_of(value)) return Polynomial{*scalar};
  Node* node = value->producer();
  if (node == nullptr || !node->domain.empty() || node->inputs.size() != 2 || depth > 6) return std::nullopt;
  const auto a = polynomial(node->input(0), x, members, depth + 1),
             b = polynomial(node->input(1), x, members, depth + 1);
  if (!a || !b) return std::nullopt;
  if (std::find(members.begin(), members.end(), node) == members.end()) members.push_back(node);
  if (node->op == "Mul") return product(*a, *b);
  if (node->op == "Add") {
    Polynomial sum;
    for (size_t i = 0; i <= kDegree; ++i) sum[i] = (*a)[i] + (*b)[i];
    return sum;
  }
  const bool constant = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
  if (node->op == "Div" && constant && (*b)[0] != 0) return product(*a, Polynomial{1 / (*b)[0]});
  if (node->op != "Pow" || !constant) return std::nullopt;
  if ((*b)[0] == 2) return product(*a, *a);
  const auto squared = (*b)[0] == 3 ? product(*a, *a) : std::nullopt;
  return squared ? product(*squared, *a) : std::nullopt;
}

bool is_gelu_argument(const Polynomial& p, bool tanh) {
  if (p[0] != 0 || p[2] != 0) return false;
  if (!tanh) return is_near(p[1], std::sqrt(0.5)) && p[3] == 0;
  const double slope = std::sqrt(2 / 3.14159265358979323846);
  return is_near(p[1], slope) && is_near(p[3], 0.044715 * slope);
}

struct Gelu {
  Value* x = nullptr;
  bool tanh = false;
  std::vector<Node*> members;
};

// From 1 + erf(…) up through the products with x and 1 / 2.
std::optional<Gelu> match(Node* function, const Uses& uses) {
  Gelu result{nullptr, function->op == "Tanh", {function}};
  Node* sum = uses.only_reader(function->output(0));
  if (sum == nullptr || sum->op != "Add" || !sum->domain.empty()) return std::nullopt;
  const Value* one = other_operand(*sum, function->output(0));
  if (one == nullptr || !is_scalar(one, 1)) return std::nullopt;
  const auto around = product_around(uses, sum->output(0), 0.5);
  if (!around) return std::nullopt;
  result.x = around->other;
  const auto argument = polynomial(function->input(0), result.x, result.members);
  if (!argument || !is_gelu_argument(*argument, result.tanh)) return std::nullopt;
  result.members.push_back(sum);
  result.members.insert(result.members.end(), around->beside.begin(), around->beside.end());
  result.members.insert(result.members.end(), around->nodes.begin(), around->nodes.end());
  if (!same_type(result.x, result.members.back()->output(0)) || !is_private(uses, result.members))
    return std::nullopt;
  return result;
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<Gelu> found;
  for (const auto& node : graph.nodes()) {
    if (!node->domain.empty() || (node->op != "Erf" && node->op != "Tanh")) continue;
    if (auto gelu = match(node.get(), uses)) found.push_back(std::move(*gelu));
  }
  for (const Gelu& gelu : found) {
    AttributeMap attributes;
    if (gelu.tanh) attributes["approximate"] = Attribute(std::string("tanh"));
    replace_with(graph, gelu.members, "Gelu", kGeluOpset, {gelu.x}, std::move(attributes));
  }
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_gelu() {
  return {"recognise-gelu", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
