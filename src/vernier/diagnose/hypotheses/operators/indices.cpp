// B39: indices that are off by one, negative or there twice, and ends of slices and pads.
#include <limits>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"

namespace vernier {

namespace {

using Integers = std::vector<int64_t>;

constexpr int kClass = 39;

// ---- Gather and Scatter

bool reads_or_writes_at_indices(const Member& member) {
  for (const char* op : {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Scatter"}) {
    if (member.is(op)) return true;
  }
  return false;
}

// The size of the axis that each index is for, by its place in a tuple.
Integers bounds_of(const Member& member) {
  const Dims& dims = member.in(0).dims();
  if (!member.is("GatherND") && !member.is("ScatterND"))
    return {dims.at(axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0)))};
  const int64_t batch = member.is("GatherND") ? ops::integer_attribute(member.node(), "batch_dims") : 0;
  Integers bounds;
  for (int64_t i = 0; i < member.in(1).dims().back(); ++i)
    bounds.push_back(dims.at(static_cast<size_t>(batch + i)));
  return bounds;
}

// Every index on its own; `change` sees it and the size of its axis.
Tensor with_indices(const Member& member, const Tensor& tuples,
                    const std::function<int64_t(int64_t, int64_t)>& change) {
  const Integers bounds = bounds_of(member);
  auto indices = tuples.to_ints();
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t bound = bounds[i % bounds.size()];
    indices[i] = std::clamp<int64_t>(change(indices[i], bound), 0, std::max<int64_t>(0, bound - 1));
  }
  return Tensor::from_ints(tuples.type(), tuples.dims(), indices);
}

int64_t counted(int64_t index, int64_t bound) {
  return index < 0 ? index + bound : index;
}

// The indices of a tuple in reverse, and batches that all read the first one.
void propose_tuples(const Variations& variations) {
  const Member& member = variations.member();
  if (!member.is("GatherND") && !member.is("ScatterND")) return;
  const Tensor& tuples = member.in(1);
  const auto innermost = tuples.dims().size() - 1;
  if (tuples.dims().back() > 1)
    variations.add_operand("the indices of each tuple are read in reverse", 1,
                           [&member, innermost](const Tensor& each) {
                             return with_indices(member, reversed(each, innermost), counted);
                           });
  if (!member.is("GatherND") || ops::integer_attribute(member.node(), "batch_dims") < 1) return;
  const auto first_of_all = [](const Tensor& each) {
    return taken(each, 0, Integers(static_cast<size_t>(each.dims()[0]), 0));
  };
  variations.add_operand("all batches read the data of the first one", 0, first_of_all);
  variations.add_operand("all batches read at the indices of the first one", 1, first_of_all);
}

void propose_indices(const Variations& variations) {
  const Member& member = variations.member();
  const auto add = [&](const char* what, const std::function<int64_t(int64_t, int64_t)>& change) {
    variations.add_operand(
        what, 1, [&member, change](const Tensor& each) { return with_indices(member, each, change); });
  };
  add("indices are one too large", [](int64_t index, int64_t bound) { return counted(index, bound) + 1; });
  add("indices are one too small", [](int64_t index, int64_t bound) { return counted(index, bound) - 1; });
  add("indices are one too large, around the end",
      [](int64_t index, int64_t bound) { return (counted(index, bound) + 1) % bound; });
  add("indices are one too small, around the end",
      [](int64_t index, int64_t bound) { return (counted(index, bound) + bound - 1) % bound; });
  propose_tuples(variations);
  add("indices are taken for 0", [](int64_t, int64_t) { return 0; });
  const auto indices = member.in(1).to_ints();
  if (bounds_of(member).size() == 1 && indices.size() > 1) {
    add("every index is taken for the first one",
        [first = indices[0]](int64_t, int64_t bound) { return counted(first, bound); });
    variations.add_operand("indices are read in reverse", 1, [](const Tensor& each) {
      auto values = each.to_ints();
      std::reverse(values.begin(), values.end());
      return Tensor::from_ints(each.type(), each.dims(), values);
    });
  }
  if (std::any_of(indices.begin(), indices.end(), [](int64_t index) { return index < 0; })) {
    add("negative indices are taken for 0",
        [](int64_t index, int64_t) { return std::max<int64_t>(0, index); });
    add("negative indices count from the last element but one",
        [](int64_t index, int64_t bound) { return index < 0 ? index + bound - 1 : index; });
    add("the sign of indices is lost", [](int64_t index, int64_t) { return index < 0 ? -index : index; });
    add("negative indices are taken for the last element",
        [](int64_t index, int64_t bound) { return index < 0 ? bound - 1 : index; });
  }
}

Tensor filled(const Tensor& like, double value) {
  return mapped(like, [value](double) { return value; });
}

// ---- Slice

struct Cut {
  size_t axis;
  int64_t start, step, count, end;  // normalised; the end as far as it is inside
  bool negative;                    // whether a limit counts from the back
};

int64_t at_or(const Integers& list, size_t index, int64_t absent) {
  return index < list.size() ? list[index] : absent;
}

Integers limits(const Member& slice, size_t input, const char* attribute) {
  if (slice.has(input)) return slice.in(input).to_ints();
  return slice.node().attribute<Integers>(attribute, {});
}

std::vector<Cut> cuts_of(const Member& slice) {
  const Integers starts = limits(slice, 1, "starts"), ends = limits(slice, 2, "ends"),
                 axes = limits(slice, 3, "axes"), steps = limits(slice, 4, "steps");
  std::vector<Cut> cuts;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = axis_of(at_or(axes, i, static_cast<int64_t>(i)), slice.in(0));
    const int64_t size = slice.in(0).dims()[axis], step = at_or(steps, i, 1);
    const int64_t start = counted(starts[i], size), last = step < 0 ? size - 1 : size;
    const int64_t end = ends.at(i) < 0 ? ends[i] + size : ends[i];
    cuts.push_back({axis, std::clamp<int64_t>(start, 0, last), step, slice.out().dims().at(axis),
                    std::clamp<int64_t>(end, -1, size), starts[i] < 0 || ends[i] < 0});
  }
  return cuts;
}

// As many elements as are right, each axis of them from the places that `place` gives; zeros outside.
Tensors cut(const Member& slice, const std::vector<Cut>& cuts,
            const std::function<int64_t(const Cut&, int64_t)>& place) {
  Tensor result = slice.in(0);
  for (const Cut& each : cuts) {
    Integers indices;
    for (int64_t i = 0; i < each.count; ++i) indices.push_back(place(each, i));
    result = taken(result, each.axis, indices);
  }
  return {result};
}

void propose_slice(const Variations& variations) {
  const Member& slice = variations.member();
  const auto cuts = cuts_of(slice);
  const auto add = [&](const char* what, const std::function<int64_t(const Cut&, int64_t)>& place) {
    variations.add(what, [&slice, cuts, place] { return cut(slice, cuts, place); });
  };
  const auto any = [&](const std::function<bool(const Cut&)>& what) {
    return std::any_of(cuts.begin(), cuts.end(), what);
  };
  const auto at = [](const Cut& each, int64_t i) { return each.start + i * each.step; };
  add("it begins one element too late", [at](const Cut& each, int64_t i) { return at(each, i) + 1; });
  add("it begins one element too early", [at](const Cut& each, int64_t i) { return at(each, i) - 1; });
  add("it begins at the first element", [](const Cut& each, int64_t i) { return i * each.step; });
  if (any([](const Cut& each) { return each.step != 1; }))
    add("its step is taken for 1", [](const Cut& each, int64_t i) { return each.start + i; });
  if (any([](const Cut& each) { return each.step < 0; }))
    add("it runs forward instead of backward",
        [at](const Cut& each, int64_t i) { return at(each, each.count - 1 - i); });
  if (any([](const Cut& each) { return each.negative; }))
    add("limits that count from the back are off by one",
        [at](const Cut& each, int64_t i) { return at(each, i) - (each.negative ? 1 : 0); });
  variations.add("the element at its end is in it, too", [&slice, cuts] {
    auto longer = cuts;
    for (Cut& each : longer) ++each.count;
    return cut(slice, longer, [](const Cut& each, int64_t i) {
      return std::min(each.start + i * each.step, std::max<int64_t>(0, each.end));
    });
  });
}

// ---- CenterCropPad

// The part that is cut off, or padded, is halved otherwise, or all of it lies at one end.
void propose_centre(const Variations& variations) {
  const Member& member = variations.member();
  const Dims &from = member.in(0).dims(), &to = member.out().dims();
  const auto add = [&](const char* what, const std::function<int64_t(int64_t surplus)>& first) {
    bool differs = false;
    for (size_t axis = 0; axis < from.size(); ++axis)
      differs = differs || first(from[axis] - to[axis]) != (from[axis] - to[axis]) / 2;
    if (!differs) return;
    variations.add_result(what, [&member, from, to, first](const Tensor&) {
      Tensor result = member.in(0);
      for (size_t axis = 0; axis < from.size(); ++axis) {
        Integers places;
        for (int64_t i = 0; i < to[axis]; ++i) places.push_back(i + first(from[axis] - to[axis]));
        result = taken(result, axis, places);
      }
      return result;
    });
  };
  add("the larger part of an odd difference lies at the begin",
      [](int64_t surplus) { return surplus / 2 + surplus % 2; });
  add("it cuts off and pads at the end alone", [](int64_t) { return 0; });
  add("it cuts off and pads at the begin alone", [](int64_t surplus) { return surplus; });
}

// ---- Pad

// The mean of what stands where it pads.
void propose_pad_value(const Variations& variations, const FlaggedNode& flagged) {
  const Member& pad = variations.member();
  const Tensor* shown = made_in_place(pad, 0, flagged);
  if (shown == nullptr || ops::pad_mode(pad.node()) != "constant" || !is_float(pad.out().type())) return;
  Tensors inputs = pad.inputs();
  inputs[0] = filled(inputs[0], 1);
  if (pad.has(2)) inputs[2] = filled(inputs[2], 0);
  const auto inside =
      pad.changed([](Node& node) { node.attributes.erase("value"); }, std::move(inputs)).at(0).to_doubles();
  const auto made = shown->to_doubles();
  double sum = 0, count = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (inside[i] != 0) continue;
    sum += made[i];
    ++count;
  }
  if (count == 0 || !std::isfinite(sum)) return;
  const double value = sum / count;
  variations.add(
      fmt::format("it pads with {:.4g}", value),
      [&pad, inside, value] {
        auto values = pad.out().to_doubles();
        for (size_t i = 0; i < values.size(); ++i) values[i] = inside[i] == 0 ? value : values[i];
        return Tensors{Tensor::from_doubles(pad.out().type(), pad.out().dims(), values)};
      },
      kFittedNumber);
}

void propose_pad(const Variations& variations) {
  const Member& pad = variations.member();
  const bool given = ops::pads_are_inputs(pad.node());
  const Integers pads = given ? pad.in(1).to_ints() : ops::attribute_pads(pad.node());
  const auto half = static_cast<ptrdiff_t>(pads.size() / 2);
  const auto add = [&](const char* what, const Integers& other) {
    if (other == pads) return;
    variations.add(what, [&pad, given, other] {
      Tensors inputs = pad.inputs();
      if (given) inputs[1] = list_of(other);
      return pad.changed(
          [&](Node& node) {
            if (!given) node.attributes[node.version < 2 ? "paddings" : "pads"] = other;
          },
          std::move(inputs));
    });
  };
  Integers swapped = pads, pairs = pads, later = pads, earlier = pads, flat(pads.size(), 0);
  std::rotate(swapped.begin(), swapped.begin() + half, swapped.end());
  for (ptrdiff_t i = 0; i < half; ++i) {
    const auto at = static_cast<size_t>(i), end = static_cast<size_t>(half + i);
    pairs[at] = pads[2 * at];
    pairs[end] = pads[2 * at + 1];
    if (pads[at] == 0 && pads[end] == 0) continue;
    ++later[at], --later[end];
    --earlier[at], ++earlier[end];
  }
  add("the pads of begin and end are exchanged", swapped);
  add("the pads are read pair by pair, begin and end of each axis", pairs);
  add("what it pads lies one element too late", later);
  add("what it pads lies one element too early", earlier);
  add("it does not pad at the begin, but at the end", flat);
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    if (ops::pad_mode(pad.node()) != mode)
      variations.add_node(fmt::format("it pads as '{}' says", mode),
                          [mode](Node& node) { node.attributes["mode"] = std::string(mode); });
  }
  variations.add_operand("the value that it pads with is taken for 0", 2,
                         [](const Tensor& value) { return filled(value, 0); });
}

}  // namespace

void propose_indices(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                     std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (reads_or_writes_at_indices(member) && member.has(1)) propose_indices(variations);
  if (member.is("Slice")) propose_slice(variations);
  if (member.is("CenterCropPad")) propose_centre(variations);
  if (member.is("Pad")) {
    propose_pad(variations);
    propose_pad_value(variations, flagged);
  }
}

}  // namespace vernier
