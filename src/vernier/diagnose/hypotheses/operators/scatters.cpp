// B39: what ScatterElements and ScatterND write, and what becomes of several updates of one place.
#include <algorithm>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 39;

Tensor filled(const Tensor& like, double value) {
  return mapped(like, [value](double) { return value; });
}

// Both lists in reverse along the axis of the indices, so that the first update of a place is the last one.
void in_reverse(const Member& member, Tensors& inputs) {
  if (!member.is("ScatterND")) {
    const size_t axis = axis_of(ops::integer_attribute(member.node(), "axis"), inputs[0]);
    for (const size_t i : {1, 2}) inputs[i] = reversed(inputs[i], axis);
    return;
  }
  const Dims updates = inputs[2].dims();
  const int64_t depth = inputs[1].dims().back(), tuples = inputs[1].size() / std::max<int64_t>(1, depth);
  const int64_t each = inputs[2].size() / std::max<int64_t>(1, tuples);
  inputs[1] = reversed(inputs[1].reshaped({tuples, depth}), 0).reshaped(inputs[1].dims());
  inputs[2] = reversed(inputs[2].reshaped({tuples, each}), 0).reshaped(updates);
}

Tensors first_wins(const Member& member) {
  Tensors inputs = member.inputs();
  in_reverse(member, inputs);
  return member.with_inputs(std::move(inputs));
}

// All updates of one place are added up, whether or not the node says so.
Tensors adds_up(const Member& member) {
  Tensors inputs = member.inputs();
  inputs[2] = filled(inputs[2], 0);
  inputs[0] = member.with_inputs(inputs).at(0);
  inputs[2] = member.in(2);
  return member.changed(
      [](Node& node) {
        node.version = std::max<int64_t>(node.version, 16);
        node.attributes["reduction"] = std::string("add");
      },
      std::move(inputs));
}

// The element that is there first is combined with one update of each place, as where several threads read it
// before any of them writes: with the last update, or with the first one.
Tensors races(const Member& member, bool first) {
  const auto placed = [&](const Tensor& data, const Tensor& updates) {
    Tensors inputs{data, member.in(1), updates};
    const auto no_reduction = [](Node& node) { node.attributes.erase("reduction"); };
    if (first) in_reverse(member, inputs);
    return member.changed(no_reduction, std::move(inputs)).at(0).to_doubles();
  };
  const Tensor& data = member.in(0);
  const auto touched = placed(filled(data, 0), filled(member.in(2), 1));
  const auto updates = placed(data, member.in(2));
  const std::string reduction = ops::text_attribute(member.node(), "reduction");
  auto values = data.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (touched[i] == 0) continue;
    values[i] = reduction == "add"   ? values[i] + updates[i]
                : reduction == "mul" ? values[i] * updates[i]
                : reduction == "max" ? std::max(values[i], updates[i])
                                     : std::min(values[i], updates[i]);
  }
  return {Tensor::from_doubles(data.type(), data.dims(), values)};
}

void propose_reductions(const Variations& variations) {
  const Member& member = variations.member();
  const std::string given = ops::text_attribute(member.node(), "reduction");
  for (const char* other : {"add", "mul", "max", "min"}) {
    if (given == other || given == "none") continue;
    variations.add_node(fmt::format("updates are combined by '{}' instead of '{}'", other, given),
                        [other](Node& node) {
                          node.version = std::max<int64_t>(node.version, 18);
                          node.attributes["reduction"] = std::string(other);
                        });
  }
  if (given == "none") return;
  variations.add("of several updates of one place the last one alone is combined with what was there",
                 [&member] { return races(member, false); });
  variations.add("of several updates of one place the first one alone is combined with what was there",
                 [&member] { return races(member, true); });
  if (given != "add") return;
  for (const double factor : {2.0, -1.0})
    variations.add_operand(fmt::format("updates count {} times", factor), 2, [factor](const Tensor& updates) {
      return mapped(updates, [factor](double value) { return factor * value; });
    });
}

void propose_scatter(const Variations& variations) {
  const Member& member = variations.member();
  const bool reduces = ops::text_attribute(member.node(), "reduction") != "none";
  propose_reductions(variations);
  if (reduces) {
    variations.add_node("updates replace what is there: the reduction is lost",
                        [](Node& node) { node.attributes.erase("reduction"); });
  } else {
    variations.add("of several updates of one place the first one stays",
                   [&member] { return first_wins(member); });
    variations.add("several updates of one place are added up", [&member] { return adds_up(member); });
    variations.add_node("updates are added to what is there", [](Node& node) {
      node.version = std::max<int64_t>(node.version, 16);
      node.attributes["reduction"] = std::string("add");
    });
  }
  variations.add_operand("what it writes into is zero", 0,
                         [](const Tensor& data) { return filled(data, 0); });
}

}  // namespace

void propose_scatters(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                      std::vector<Proposal>& proposals) {
  if (member.has(2) && (member.is("ScatterND") || member.is("ScatterElements") || member.is("Scatter")))
    propose_scatter(Variations(member, flagged, kClass, proposals));
}

}  // namespace vernier
