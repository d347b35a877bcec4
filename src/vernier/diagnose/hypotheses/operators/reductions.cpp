#include "vernier/diagnose/hypotheses/operators/reductions.h"

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/einsum_equation.h"

namespace vernier {

namespace {

std::optional<ReducedIndex> made(const Member& member, const std::vector<std::pair<size_t, int64_t>>& axes) {
  ReducedIndex reduction;
  for (const auto& [operand, axis] : axes) {
    if (!member.has(operand)) return std::nullopt;
    const size_t counted = axis_of(axis, member.in(operand));
    const int64_t length = member.in(operand).dims()[counted];
    if (!reduction.axes.empty() && length != reduction.length) return std::nullopt;
    reduction.length = length;
    reduction.axes.emplace_back(operand, counted);
  }
  return reduction;
}

std::optional<ReducedIndex> of_product(const Member& member) {
  const Node& node = member.node();
  const bool quantized = member.is("QLinearMatMul");
  const size_t second = quantized ? 3 : 1;
  if (member.is("Gemm"))
    return made(member, {{0, ops::integer_attribute(node, "transA") == 0 ? -1 : -2},
                         {1, ops::integer_attribute(node, "transB") == 0 ? -2 : -1}});
  if (!member.has(second)) return std::nullopt;
  return made(member, {{0, -1}, {second, member.in(second).rank() == 1 ? -1 : -2}});
}

std::optional<ReducedIndex> of_convolution(const Member& member) {
  const size_t weights = member.is("QLinearConv") ? 3 : 1;
  if (ops::integer_attribute(member.node(), "group") != 1) return std::nullopt;
  return made(member, {{0, 1}, {weights, 1}});
}

bool is_reduction(const Member& member) {
  return member.node().domain.empty() && member.op().compare(0, 6, "Reduce") == 0;
}

std::optional<ReducedIndex> of_reduction(const Member& member) {
  std::vector<int64_t> axes =
      member.has(1) ? member.in(1).to_ints() : member.node().attribute<std::vector<int64_t>>("axes", {});
  if (axes.empty() && member.in(0).rank() == 1) axes = {0};
  if (axes.size() != 1) return std::nullopt;
  auto reduction = made(member, {{0, axes[0]}});
  if (reduction) reduction->divides = member.is("ReduceMean");
  return reduction;
}

// Each index that is summed over, wherever the operands have it.
std::vector<ReducedIndex> of_equation(const Member& member) {
  std::vector<size_t> ranks;
  for (const Tensor& operand : member.inputs()) ranks.push_back(operand.dims().size());
  const auto equation = ops::parse_einsum(member.node().attribute<std::string>("equation", {}), ranks);
  std::map<int, std::vector<std::pair<size_t, int64_t>>> axes;
  for (size_t operand = 0; operand < equation.inputs.size(); ++operand) {
    const auto& labels = equation.inputs[operand];
    for (size_t axis = 0; axis < labels.size(); ++axis)
      axes[labels[axis]].emplace_back(operand, static_cast<int64_t>(axis));
  }
  for (const int label : equation.output) axes.erase(label);
  std::vector<ReducedIndex> reductions;
  for (const auto& [label, places] : axes) {
    if (const auto reduction = made(member, places)) reductions.push_back(*reduction);
  }
  return reductions;
}

std::optional<ReducedIndex> only_reduction_of(const Member& member) {
  if (member.is("MatMul") || member.is("Gemm") || member.is("MatMulInteger") || member.is("QLinearMatMul"))
    return of_product(member);
  if (member.is("Conv") || member.is("QLinearConv")) return of_convolution(member);
  if (is_reduction(member)) return of_reduction(member);
  if (member.is("ArgMax") || member.is("ArgMin"))
    return made(member, {{0, ops::integer_attribute(member.node(), "axis")}});
  if (member.is("Attention") && !member.has(3) && member.in(1).rank() == 4)
    return made(member, {{1, -2}, {2, -2}});
  return std::nullopt;
}

}  // namespace

std::vector<ReducedIndex> reductions_of(const Member& member) {
  if (member.is("Einsum")) return of_equation(member);
  const auto reduction = only_reduction_of(member);
  return reduction ? std::vector{*reduction} : std::vector<ReducedIndex>();
}

}  // namespace vernier
