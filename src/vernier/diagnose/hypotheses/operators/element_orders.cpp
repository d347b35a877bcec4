// B31: elements in another order: what only moves, splits or joins elements takes them in another order of
// axes, of blocks or of parts.
#include <algorithm>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier {

namespace {

constexpr int kClass = 31;
constexpr int64_t kLarge = 1 << 22;  // elements, which are moved for each of many orders

using Axes = std::vector<size_t>;

// Every order but the one that is given, of few axes.
void for_each_order(size_t count, const std::function<void(const Axes&)>& visit) {
  constexpr size_t kMost = 5;
  if (count > kMost) return;
  Axes axes = in_order(count);
  while (std::next_permutation(axes.begin(), axes.end())) visit(axes);
}

std::string text_of(const Axes& axes) {
  return fmt::format("{}", fmt::join(axes, ", "));
}

// Operators whose results have other sizes, and the same elements in the same order.
void propose_reshaped(const Variations& variations) {
  const Member& member = variations.member();
  const Dims& to = member.out().dims();
  for_each_order(member.in(0).dims().size(), [&](const Axes& axes) {
    variations.add(fmt::format("what it reads lies in the order of axes {}", text_of(axes)), [&member, axes] {
      return Tensors{permuted(member.in(0), axes).reshaped(member.out().dims())};
    });
  });
  for_each_order(to.size(), [&](const Axes& axes) {
    variations.add(fmt::format("what it makes lies in the order of axes {}", text_of(axes)),
                   [&member, axes] { return Tensors{misread(member.out(), axes)}; });
  });
  variations.add("it counts elements column by column", [&member] {
    Axes from = in_order(member.in(0).dims().size()), back = in_order(member.out().dims().size());
    std::reverse(from.begin(), from.end());
    std::reverse(back.begin(), back.end());
    Dims dims = member.out().dims();
    std::reverse(dims.begin(), dims.end());
    return Tensors{permuted(permuted(member.in(0), from).reshaped(dims), back)};
  });
}

// Images as six axes, which come in another order: `groups` of them in a row make each axis of the result.
void propose_blocks(const Variations& variations, const Dims& parts, const std::vector<size_t>& groups) {
  const Member& member = variations.member();
  const Dims& to = member.out().dims();
  for_each_order(parts.size() - 1, [&](const Axes& order) {
    Axes axes{0};
    for (const size_t axis : order) axes.push_back(axis + 1);
    size_t next = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
      int64_t length = 1;
      for (size_t k = 0; k < groups[i]; ++k) length *= parts[axes[next++]];
      if (length != to.at(i + 1)) return;
    }
    variations.add(
        fmt::format("as axes of sizes {} elements come in the order {}", dims_text(parts), text_of(axes)),
        [&member, parts, axes] {
          return Tensors{permuted(member.in(0).reshaped(parts), axes).reshaped(member.out().dims())};
        });
  });
}

void propose_depth_and_space(const Variations& variations) {
  const Member& member = variations.member();
  const int64_t block = member.node().attribute<int64_t>("blocksize", {});
  const Dims& x = member.in(0).dims();
  if (x.size() != 4 || block < 2) return;
  if (member.is("SpaceToDepth"))
    return propose_blocks(variations, {x[0], x[1], x[2] / block, block, x[3] / block, block}, {3, 1, 1});
  const int64_t depth = x[1] / (block * block);
  propose_blocks(variations, {x[0], block, block, depth, x[2], x[3]}, {1, 2, 2});
  propose_blocks(variations, {x[0], depth, block, block, x[2], x[3]}, {1, 2, 2});
}

// Windows that are summed into images: as axes of channels, places in a window and windows.
void propose_columns(const Variations& variations) {
  const Member& member = variations.member();
  const auto image = member.in(1).to_ints(), block = member.in(2).to_ints();
  const auto axes = ops::window_axes(ops::window_attributes(member.node(), image.size()), image, block);
  Dims parts{member.in(0).dims().at(0), member.in(0).dims().at(1) / ops::tap_count(axes)};
  parts.insert(parts.end(), block.begin(), block.end());
  for (const auto& axis : axes) parts.push_back(axis.output);
  const auto add = [&](const char* what, const Axes& order) {
    variations.add_operand(what, 0, [order, parts](const Tensor& columns) {
      Dims stored;
      Axes back(order.size());
      for (size_t i = 0; i < order.size(); ++i) {
        stored.push_back(parts[order[i]]);
        back[order[i]] = i;
      }
      return permuted(columns.reshaped(stored), back).reshaped(columns.dims());
    });
  };
  const auto rank = static_cast<ptrdiff_t>(axes.size());
  Axes windows = in_order(parts.size()), places = windows, both = windows, channels = windows,
       apart = windows;
  std::reverse(windows.end() - rank, windows.end());
  std::reverse(places.begin() + 2, places.end() - rank);
  std::copy(places.begin(), places.end() - rank, both.begin());
  std::copy(windows.end() - rank, windows.end(), both.end() - rank);
  std::rotate(channels.begin() + 1, channels.begin() + 2, channels.end() - rank);
  std::rotate(apart.begin() + 1, apart.end() - rank, apart.end());
  if (rank > 1) {
    add("its windows lie column by column", windows);
    add("the places in its windows lie column by column", places);
    add("its windows, and the places in them, lie column by column", both);
  }
  add("channels lie behind the places in a window", channels);
  add("windows lie before channels", apart);
}

// Windows that overlap, which are averaged, or of which the first or the last one stays.
void propose_overlaps(const Variations& variations) {
  const Member& member = variations.member();
  const auto image = member.in(1).to_ints(), block = member.in(2).to_ints();
  const auto axes = ops::window_axes(ops::window_attributes(member.node(), image.size()), image, block);
  const bool overlaps = std::any_of(axes.begin(), axes.end(), [](const ops::WindowAxis& axis) {
    return axis.output > 1 && axis.stride <= (axis.kernel - 1) * axis.dilation;
  });
  if (!overlaps) return;
  variations.add_result("windows that overlap are averaged, and not added", [&member](const Tensor& right) {
    const auto count =
        member.with_input(0, mapped(member.in(0), [](double) { return 1; })).at(0).to_doubles();
    auto values = right.to_doubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] /= std::max(1.0, count[i]);
    return Tensor::from_doubles(right.type(), right.dims(), values);
  });
  const int64_t taps = ops::tap_count(axes), windows = ops::output_count(axes), size = ops::input_count(axes);
  const auto place_of = [axes](int64_t tap, int64_t window) {
    int64_t place = 0, scale = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t at = axes[i].at(window % axes[i].output, tap % axes[i].kernel);
      if (at < 0 || at >= axes[i].input) return int64_t{-1};
      window /= axes[i].output, tap /= axes[i].kernel;
      place += at * scale;
      scale *= axes[i].input;
    }
    return place;
  };
  for (const bool first : {false, true})
    variations.add_result(fmt::format("of windows that overlap the {} one stays", first ? "first" : "last"),
                          [=, &member](const Tensor& right) {
                            const auto columns = member.in(0).to_doubles();
                            std::vector<double> values(static_cast<size_t>(right.size()), 0);
                            for (int64_t plane = 0; plane < right.size() / size; ++plane) {
                              for (int64_t i = 0; i < windows * taps; ++i) {
                                const int64_t step = first ? windows * taps - 1 - i : i, window = step / taps,
                                              tap = step % taps;
                                if (const int64_t place = place_of(tap, window); place >= 0)
                                  values[static_cast<size_t>(plane * size + place)] =
                                      columns[static_cast<size_t>((plane * taps + tap) * windows + window)];
                              }
                            }
                            return Tensor::from_doubles(right.type(), right.dims(), values);
                          });
}

// Its parts in other places, or every so many elements in one part.
void propose_split(const Variations& variations) {
  const Member& member = variations.member();
  const size_t count = member.outputs().size();
  for_each_order(count, [&](const Axes& order) {
    variations.add(fmt::format("its parts come in the order {}", text_of(order)), [&member, order] {
      Tensors results;
      for (const size_t part : order) results.push_back(member.out(part));
      return results;
    });
  });
  const size_t axis = axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0));
  variations.add("elements go to its parts in turn", [&member, count, axis] {
    const int64_t length = member.in(0).dims()[axis], parts = static_cast<int64_t>(count);
    Tensors results;
    for (int64_t part = 0; part < parts; ++part) {
      std::vector<int64_t> places;
      for (int64_t place = part; place < length; place += parts) places.push_back(place);
      results.push_back(taken(member.in(0), axis, places));
    }
    return results;
  });
}

void propose_joined(const Variations& variations) {
  const Member& member = variations.member();
  const size_t axis = axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0));
  const auto parts = static_cast<int64_t>(member.input_count());
  variations.add_result("elements of its operands come in turn", [axis, parts](const Tensor& right) {
    const int64_t length = right.dims()[axis];
    std::vector<int64_t> places;
    for (int64_t i = 0; i < length; ++i) places.push_back(i % parts * (length / parts) + i / parts);
    return taken(right, axis, places);
  });
}

// A part of an equation like "ij,jk->ik" with its letters in another order.
void propose_equations(const Variations& variations) {
  variations.add("its operands come in reverse", [&member = variations.member()] {
    Tensors inputs = member.inputs();
    std::reverse(inputs.begin(), inputs.end());
    return member.with_inputs(std::move(inputs));
  });
  const auto equation = variations.member().node().attribute<std::string>("equation", {});
  size_t begin = 0;
  for (size_t i = 0; i <= equation.size(); ++i) {
    const bool is_letter = i < equation.size() && std::isalpha(static_cast<unsigned char>(equation[i])) != 0;
    if (is_letter) continue;
    const size_t first = begin, count = i - begin;
    begin = i + 1;
    if (count < 2) continue;
    for_each_order(count, [&](const Axes& order) {
      std::string other = equation;
      for (size_t k = 0; k < count; ++k) other[first + k] = equation[first + order[k]];
      variations.add_node(fmt::format("it computes '{}' instead of '{}'", other, equation),
                          [other](Node& node) { node.attributes["equation"] = other; });
    });
  }
}

// Proposes other lengths of padded sequences, each of which is reversed up to its own.
void propose_lengths(const Variations& variations) {
  const Member& member = variations.member();
  variations.add_result("it reverses nothing", [&member](const Tensor&) { return member.in(0); });
  const int64_t time = ops::integer_attribute(member.node(), "time_axis");
  variations.of(38).add_operand(
      "lengths are not read: padding is reversed, too", 1, [&member, time](const Tensor& lengths) {
        const auto all = static_cast<double>(member.in(0).dims().at(static_cast<size_t>(time)));
        return mapped(lengths, [all](double) { return all; });
      });
  variations.add_node("its axes are exchanged", [](Node& node) {
    const int64_t time = ops::integer_attribute(node, "time_axis"),
                  batch = ops::integer_attribute(node, "batch_axis");
    node.attributes["time_axis"] = batch;
    node.attributes["batch_axis"] = time;
  });
}

// An operand that is repeated along all axes but one of the result lies along another one that is as long.
void propose_broadcast(const Variations& variations, size_t operand) {
  const Member& member = variations.member();
  if (!member.has(operand)) return;
  const Dims &dims = member.in(operand).dims(), &all = member.out().dims();
  if (dims.size() > all.size() ||
      std::count_if(dims.begin(), dims.end(), [](int64_t size) { return size > 1; }) != 1)
    return;
  const auto longest = std::max_element(dims.begin(), dims.end());
  const size_t own = all.size() - dims.size() + static_cast<size_t>(longest - dims.begin());
  for (size_t axis = 0; axis < all.size(); ++axis) {
    if (axis == own || all[axis] != *longest) continue;
    Dims other(all.size(), 1);
    other[axis] = *longest;
    variations.add_operand(
        fmt::format("operand {} lies along axis {} instead of axis {}", operand, axis, own), operand,
        [other](const Tensor& each) { return each.reshaped(other); });
  }
}

bool is_one_of(const Member& member, std::initializer_list<std::string_view> ops) {
  return member.node().domain.empty() && std::find(ops.begin(), ops.end(), member.op()) != ops.end();
}

}  // namespace

void propose_element_orders(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                            std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (is_one_of(member, {"Einsum"})) return propose_equations(variations);
  if (is_one_of(member, {"ReverseSequence"})) return propose_lengths(variations);
  if (is_one_of(member, {"Gemm"})) return propose_broadcast(variations, 2);
  if (is_one_of(member, {"Add", "Sub", "Mul", "Div", "PRelu", "Pow", "Max", "Min", "Where"})) {
    for (size_t i = 0; i < member.input_count(); ++i) propose_broadcast(variations, i);
    return;
  }
  if (!member.has(0) || member.in(0).type() == ElementType::kString || member.in(0).size() > kLarge) return;
  if (is_one_of(member, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})) propose_reshaped(variations);
  if (is_one_of(member, {"DepthToSpace", "SpaceToDepth"})) propose_depth_and_space(variations);
  if (is_one_of(member, {"Split"})) propose_split(variations);
  if (is_one_of(member, {"Col2Im"})) {
    propose_columns(variations);
    propose_overlaps(variations);
  }
  if (is_one_of(member, {"Concat"})) propose_joined(variations);
}

}  // namespace vernier
