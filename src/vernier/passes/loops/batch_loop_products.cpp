// A Loop that multiplies one row of a tensor by the same weights in each trip, x[trip] * W, as recurrent
// networks do: one product of all rows before it, of which each trip takes its row. So do pointwise operators
// on the way, such as a bias.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"
#include "vernier/passes/loops/loop_body.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

// The rows that the value is one of, if it is row `trip` of what is made around the body.
const Node* row_of_trip(const Value& value, const Node& loop, const Graph& body) {
  const Node* gather = value.producer();
  if (gather == nullptr || &gather->graph() != &body || !gather->domain.empty() || gather->op != "Gather" ||
      ops::integer_attribute(*gather, "axis") != 0 || &gather->input(0)->graph() == &body ||
      known_rank(*gather->input(1)) != 0 || !is_trip_number(*gather->input(1), loop))
    return nullptr;
  return gather;
}

// Whether computing all rows gives each row of the node's result, where operand `row` is the row.
bool is_row_by_row(const Node& node, size_t row, const Graph& body) {
  if (!node.domain.empty() || node.inputs.size() != 2 || node.outputs.size() != 1) return false;
  const Value *part = node.input(row), *other = node.input(1 - row);
  if (!is_invariant(other, body) || known_rank(*part) != 2) return false;
  const auto dims = known_dims(*other);
  const Dim& width = part->type.tensor.shape->back();
  if (!dims || dims->empty()) return false;
  if (node.op == "MatMul") return row == 0 && dims->size() == 2 && width == Dim(dims->front());
  return (node.op == "Add" || node.op == "Sub" || node.op == "Mul") &&
         node.find_attribute("broadcast") == nullptr && dims->size() == 1 && width == Dim(dims->back());
}

// All rows of what the node makes, before the loop, and a Gather of one of them instead of the node.
void batch(Node& loop, Node& node, size_t row, const Node& gather) {
  std::vector<Value*> operands = node.inputs;
  operands[row] = gather.input(0);
  Node& all = *copy_before(loop, node, operands);
  all.output(0)->type = ValueType::of(node.output(0)->type.tensor.element, std::nullopt);
  auto taken = std::make_unique<Node>();
  taken->name = node.name + "/row";
  taken->op = gather.op;
  taken->version = gather.version;
  taken->inputs = {all.output(0), gather.input(1)};
  taken->outputs = node.outputs;
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(taken));
  Rewriter(node.graph()).replace({&node}, std::move(replacement));
}

int batch_in_body(Node& loop, Graph& body) {
  std::vector<Node*> nodes;
  for (const auto& node : body.nodes()) nodes.push_back(node.get());
  int rewrites = 0;
  for (Node* node : nodes) {
    for (size_t row = 0; row < std::min<size_t>(node->inputs.size(), 2); ++row) {
      const Value* part = node->input(row);
      const Node* gather = part == nullptr ? nullptr : row_of_trip(*part, loop, body);
      if (gather == nullptr || !is_row_by_row(*node, row, body)) continue;
      batch(loop, *node, row, *gather);
      ++rewrites;
      break;
    }
  }
  return rewrites;
}

int batch_in(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  int rewrites = 0;
  for (Node* node : nodes) {
    for (const auto& [name, region] : node->regions) rewrites += batch_in(*region);
    if (Graph* body = repeated_body(*node)) rewrites += batch_in_body(*node, *body);
  }
  return rewrites;
}

}  // namespace

Pass batch_loop_products() {
  return {"batch-loop-products", NumericalClass::kReassociating, batch_in};
}

}  // namespace vernier
