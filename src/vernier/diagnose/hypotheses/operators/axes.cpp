// B31: an operator works along another axis than it was told, or takes axes or operands in another order.
#include <algorithm>
#include <numeric>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier {

namespace {

constexpr int kClass = 31;
constexpr size_t kAllOrders = 5;  // of so many axes every order is tried, of more only exchanges of two

bool is_one_of(const Member& member, std::initializer_list<std::string_view> ops) {
  return member.node().domain.empty() && std::find(ops.begin(), ops.end(), member.op()) != ops.end();
}

bool has_axis(const Member& member) {
  return is_one_of(member, {"Softmax", "LogSoftmax", "Hardmax", "Concat", "Gather", "GatherElements",
                            "ScatterElements", "ArgMax", "ArgMin", "TopK", "Split", "LpNormalization",
                            "LayerNormalization", "RMSNormalization", "QuantizeLinear", "DequantizeLinear"});
}

// Gives the axis of the node, or none where it has one for every axis (per-tensor scales).
std::optional<size_t> axis_of_node(const Member& member) {
  const bool softmax = is_one_of(member, {"Softmax", "LogSoftmax", "Hardmax"});
  const int64_t axis =
      softmax ? ops::softmax_axis(member.node()) : ops::integer_attribute(member.node(), "axis");
  const int64_t counted = axis < 0 ? axis + member.in(0).rank() : axis;
  if (counted < 0 || counted >= member.in(0).rank()) return std::nullopt;
  return static_cast<size_t>(counted);
}

void propose_axis(const Variations& variations) {
  const Member& member = variations.member();
  const auto given = axis_of_node(member);
  if (!given) return;
  for (size_t axis = 0; axis < member.in(0).dims().size(); ++axis) {
    if (axis == *given) continue;
    variations.add_node(fmt::format("it works along axis {} instead of axis {}", axis, *given),
                        [axis](Node& node) { node.attributes["axis"] = static_cast<int64_t>(axis); });
  }
}

void propose_order_of_operands(const Variations& variations) {
  const Member& member = variations.member();
  const size_t count = member.input_count();
  const auto add = [&](std::string what, const std::function<void(Tensors&)>& reorder) {
    variations.add(std::move(what), [&member, reorder] {
      Tensors inputs = member.inputs();
      reorder(inputs);
      return member.with_inputs(std::move(inputs));
    });
  };
  add("its operands come in reverse", [](Tensors& inputs) { std::reverse(inputs.begin(), inputs.end()); });
  for (size_t i = 0; count > 2 && i + 1 < count; ++i)
    add(fmt::format("operands {} and {} are exchanged", i, i + 1),
        [i](Tensors& inputs) { std::swap(inputs[i], inputs[i + 1]); });
  if (count < 3) return;
  add("its last operand comes first",
      [](Tensors& inputs) { std::rotate(inputs.begin(), inputs.end() - 1, inputs.end()); });
  add("its first operand comes last",
      [](Tensors& inputs) { std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end()); });
}

// The axes of a reduction, wherever they are given; none: all.
std::vector<int64_t> reduced_axes(const Member& member) {
  if (member.has(1)) return member.in(1).to_ints();
  return member.node().attribute<std::vector<int64_t>>("axes", {});
}

void propose_reduced(const Variations& variations) {
  const Member& member = variations.member();
  const auto given = reduced_axes(member);
  const auto rank = member.in(0).rank();
  const auto add = [&](const std::vector<int64_t>& axes) {
    variations.add(fmt::format("it reduces axes {}", fmt::join(axes, ", ")), [&member, axes] {
      Tensors inputs = member.inputs();
      if (member.has(1)) inputs[1] = list_of(axes);
      return member.changed(
          [&](Node& node) {
            if (!member.has(1)) node.attributes["axes"] = axes;
          },
          std::move(inputs));
    });
  };
  if (given.empty()) return;
  for (size_t i = 0; i < given.size(); ++i) {
    auto fewer = given;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
    if (!fewer.empty()) add(fewer);
    for (int64_t axis = 0; axis < rank; ++axis) {
      auto other = given;
      other[i] = axis;
      const auto counted = [rank](int64_t each) { return each < 0 ? each + rank : each; };
      if (std::none_of(given.begin(), given.end(), [&](int64_t each) { return counted(each) == axis; }))
        add(other);
    }
  }
}

void propose_other_reduction(const Variations& variations) {
  const Member& member = variations.member();
  const auto become = [&](const char* what, const char* op) {
    if (!member.is(op)) variations.add_node(what, [op](Node& node) { node.op = op; });
  };
  // Sums and means have their axes in different places in opsets 13 to 17.
  const bool alike = member.node().version < 13 || member.node().version >= 18;
  if (member.is("ReduceMean") && alike) become("the sum is not divided by the count", "ReduceSum");
  if (member.is("ReduceSum") && alike) become("the sum is divided by the count", "ReduceMean");
}

std::vector<int64_t> permutation_of(const Member& member) {
  auto perm = member.node().attribute<std::vector<int64_t>>("perm", {});
  if (!perm.empty()) return perm;
  for (int64_t i = member.in(0).rank(); i-- > 0;) perm.push_back(i);
  return perm;
}

void propose_permutations(const Variations& variations) {
  const auto given = permutation_of(variations.member());
  const auto add = [&](const std::vector<int64_t>& perm) {
    if (perm != given)
      variations.add_node(fmt::format("its axes come in the order {}", fmt::join(perm, ", ")),
                          [perm](Node& node) { node.attributes["perm"] = perm; });
  };
  std::vector<int64_t> inverse(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    inverse.at(static_cast<size_t>(given[i])) = static_cast<int64_t>(i);
  add(inverse);
  auto perm = given;
  std::iota(perm.begin(), perm.end(), 0);
  if (given.size() <= kAllOrders) {
    do add(perm);
    while (std::next_permutation(perm.begin(), perm.end()));
    return;
  }
  add(perm);
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t k = i + 1; k < given.size(); ++k) {
      auto swapped = given;
      std::swap(swapped[i], swapped[k]);
      add(swapped);
    }
  }
}

void propose_flag(const Variations& variations, const char* attribute, const char* what) {
  variations.add_node(what, [attribute](Node& node) {
    const int64_t other = ops::integer_attribute(node, attribute) == 0 ? 1 : 0;
    node.attributes[attribute] = other;
  });
}

void propose_blocks(const Variations& variations) {
  const bool columns_first = ops::text_attribute(variations.member().node(), "mode") == "DCR";
  variations.add_node(
      columns_first ? "blocks lie behind the channels (CRD)" : "blocks lie before the channels (DCR)",
      [columns_first](Node& node) { node.attributes["mode"] = std::string(columns_first ? "CRD" : "DCR"); });
}

// Along every axis, from either end, with or without the element itself.
void propose_running_sums(const Variations& variations) {
  const Member& member = variations.member();
  const auto given = static_cast<int64_t>(axis_of(member.in(1).to_ints().at(0), member.in(0)));
  const int64_t reverse = ops::integer_attribute(member.node(), "reverse"),
                exclusive = ops::integer_attribute(member.node(), "exclusive");
  for (int64_t axis = 0; axis < member.in(0).rank(); ++axis) {
    for (const int64_t way : {0, 1, 2, 3}) {
      const int64_t other_end = way / 2, without_itself = way % 2;
      if (axis == given && other_end == reverse && without_itself == exclusive) continue;
      variations.add(fmt::format("it sums along axis {} from the {}, {} the element itself", axis,
                                 other_end == 0 ? "begin" : "end", without_itself == 0 ? "with" : "without"),
                     [&member, axis, other_end, without_itself] {
                       Tensors inputs = member.inputs();
                       const std::vector<int64_t> along{axis};
                       inputs[1] = Tensor::from_ints(inputs[1].type(), inputs[1].dims(), along);
                       return member.changed(
                           [&](Node& node) {
                             node.attributes["reverse"] = other_end;
                             node.attributes["exclusive"] = without_itself;
                           },
                           std::move(inputs));
                     });
    }
  }
  variations.add("it goes on from one row to the next", [&member] {
    Tensors inputs = member.inputs();
    inputs[0] = inputs[0].reshaped({inputs[0].size()});
    inputs[1] = Tensor::from_ints(inputs[1].type(), inputs[1].dims(), std::vector<int64_t>{0});
    Tensors results = member.with_inputs(std::move(inputs));
    results[0] = results[0].reshaped(member.out().dims());
    return results;
  });
}

// A sum over more axes than the one that is meant.
void propose_more_axes(const Variations& variations) {
  const auto given = axis_of_node(variations.member());
  const int64_t rank = variations.member().in(0).rank();
  constexpr int64_t kFlattens = 11;  // the opset in which all axes from one on are one
  for (int64_t axis = 0; given && axis < rank; ++axis)
    variations.add_node(fmt::format("it sums over all axes from axis {} on", axis), [axis](Node& node) {
      node.version = kFlattens;
      node.attributes["axis"] = axis;
    });
}

void propose_one_hot(const Variations& variations) {
  const Member& member = variations.member();
  for (int64_t axis = 0; axis < member.out().rank(); ++axis)
    variations.add_node(fmt::format("its classes lie along axis {}", axis),
                        [axis](Node& node) { node.attributes["axis"] = axis; });
  variations.add_operand("the values of hit and miss are exchanged", 2,
                         [](const Tensor& values) { return reversed(values, 0); });
  for (const double by : {1.0, -1.0})
    variations.add_operand(fmt::format("classes count from {}", by), 0, [by](const Tensor& classes) {
      return mapped(classes, [by](double each) { return each - by; });
    });
}

void propose_compress(const Variations& variations) {
  const Member& member = variations.member();
  for (int64_t axis = 0; axis < member.in(0).rank(); ++axis)
    variations.add_node(fmt::format("it works along axis {}", axis),
                        [axis](Node& node) { node.attributes["axis"] = axis; });
  variations.add_operand("it takes what it should leave out", 1, [](const Tensor& condition) {
    return mapped(condition, [](double each) { return each == 0 ? 1 : 0; });
  });
}

// Repeating a whole, or every element.
void propose_repetition(const Variations& variations) {
  variations.add("it repeats every element where it should repeat the whole",
                 [&member = variations.member()] {
                   Tensor result = member.in(0);
                   const auto repeats = member.in(1).to_ints();
                   for (size_t axis = 0; axis < repeats.size(); ++axis) {
                     std::vector<int64_t> indices;
                     for (int64_t i = 0; i < result.dims().at(axis) * repeats[axis]; ++i)
                       indices.push_back(i / repeats[axis]);
                     result = taken(result, axis, indices);
                   }
                   return Tensors{result};
                 });
}

}  // namespace

void propose_axes(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                  std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (!member.node().domain.empty()) return;
  if (has_axis(member)) propose_axis(variations);
  if (member.is("Concat")) propose_order_of_operands(variations);
  if (member.is("Transpose")) propose_permutations(variations);
  if (is_one_of(member, {"DepthToSpace"})) propose_blocks(variations);
  if (member.is("Tile") && member.has(1)) propose_repetition(variations);
  if (member.op().compare(0, 6, "Reduce") == 0) {
    propose_reduced(variations);
    propose_other_reduction(variations);
  }
  if (member.op().compare(0, 6, "Reduce") == 0 || is_one_of(member, {"ArgMax", "ArgMin"}))
    propose_flag(variations, "keepdims", "keepdims is read the other way");
  if (member.is("CumSum") && member.has(1)) propose_running_sums(variations);
  if (member.is("Softmax") || member.is("LogSoftmax")) propose_more_axes(variations);
  if (member.is("OneHot")) propose_one_hot(variations);
  if (member.is("Compress")) propose_compress(variations);
  if (member.is("Trilu")) {
    for (const int64_t diagonal : {-2, -1, 0, 1, 2})
      variations.add(fmt::format("it cuts at diagonal {}", diagonal), [&member, diagonal] {
        Tensors inputs = member.inputs();
        if (!member.has(1)) throw unsupported("it cuts at the main diagonal");
        const std::vector<int64_t> at{diagonal};
        inputs[1] = Tensor::from_ints(inputs[1].type(), inputs[1].dims(), at);
        return member.with_inputs(std::move(inputs));
      });
  }
}

}  // namespace vernier
