// If: runs one of two branches. Branches have no inputs; they read the values around the node. The branches'
// outputs may differ in shape, and one may be an optional of the other.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/join_types.h"
#include "vernier/ops/support/regions.h"

namespace vernier::ops {

namespace {

const Graph& branch(const Node& node, bool taken) {
  const Graph& graph = require_region(node, taken ? "then_branch" : "else_branch");
  if (graph.outputs.size() != node.outputs.size()) {
    throw bad_input("{} has {} outputs, but the branch '{}' has {}", node.op, node.outputs.size(), graph.name,
                    graph.outputs.size());
  }
  return graph;
}

// Only what both branches agree on is known.
ValueInfo join(const InferContext& context, const ValueInfo& a, const ValueInfo& b) {
  ValueInfo joined;
  joined.type = join_types(context, a.type, b.type);
  if (a.dims && b.dims && *a.dims == *b.dims) joined.dims = a.dims;
  return joined;
}

void infer_if(InferContext& context) {
  context.element(0);
  const auto condition = known_condition(context.info(0));
  if (condition) {
    // The other branch may not even fit these shapes: exporters use If to tell them apart.
    context.outputs() = context.infer_region(branch(context.node(), *condition), {});
    return;
  }
  // A branch that cannot run at these sizes is not the one that will: the other tells the types.
  std::optional<Error> refusal;
  const auto infer_branch = [&](bool taken) -> std::optional<std::vector<ValueInfo>> {
    try {
      return context.infer_region(branch(context.node(), taken), {});
    } catch (const Error& error) {
      if (refusal) throw *refusal;
      refusal = error;
      return std::nullopt;
    }
  };
  auto first = infer_branch(true), second = infer_branch(false);
  if (!first || !second) {
    context.outputs() = std::move(first ? *first : *second);
    return;
  }
  for (size_t i = 0; i < context.output_count(); ++i)
    context.outputs()[i] = join(context, (*first)[i], (*second)[i]);
}

void reference_if(ReferenceContext& context) {
  auto outputs = context.run_region(branch(context.node(), context.integer(0, 0) != 0), {});
  for (size_t i = 0; i < outputs.size(); ++i) context.emit(i, std::move(outputs[i]));
}

}  // namespace

void register_if(OpRegistry& registry) {
  registry.add({.op = "If",
                .operands = {Role::kSetting},
                .max_outputs = kVariadic,
                .traits = kControlFlow,
                .since = {16, 1},
                .infer = infer_if,
                .reference = reference_if});
}

}  // namespace vernier::ops
