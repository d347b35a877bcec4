// B40: what is equal comes in another order, or what is ordered comes unordered.
#include <algorithm>
#include <numeric>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 40;

using Row = std::vector<int64_t>;

// The two results of TopK, with the places along its axis in another order.
Tensors reordered(const Member& top, const std::function<void(Row& places, const Row& indices)>& order) {
  const size_t axis = axis_of(ops::integer_attribute(top.node(), "axis"), top.out(0));
  const Dims& dims = top.out(1).dims();
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t length = dims[axis];
  const auto indices = top.out(1).to_ints();
  const auto values = top.out(0).to_doubles();
  auto new_indices = indices;
  auto new_values = values;
  const int64_t rows = length == 0 ? 0 : top.out(1).size() / length;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = row / inner * length * inner + row % inner;
    Row places(static_cast<size_t>(length)), own;
    std::iota(places.begin(), places.end(), 0);
    for (int64_t i = 0; i < length; ++i) own.push_back(indices[static_cast<size_t>(start + i * inner)]);
    order(places, own);
    for (int64_t i = 0; i < length; ++i) {
      const auto to = static_cast<size_t>(start + i * inner),
                 from = static_cast<size_t>(start + places[static_cast<size_t>(i)] * inner);
      new_indices[to] = indices[from];
      new_values[to] = values[from];
    }
  }
  return {Tensor::from_doubles(top.out(0).type(), dims, new_values),
          Tensor::from_ints(top.out(1).type(), dims, new_indices)};
}

// Takes the input in reverse, whose first is the last.
Tensors last_of_equals(const Member& top) {
  const size_t axis = axis_of(ops::integer_attribute(top.node(), "axis"), top.in(0));
  Tensors results = top.with_input(0, reversed(top.in(0), axis));
  const auto last = static_cast<double>(top.in(0).dims()[axis] - 1);
  results.at(1) = mapped(results.at(1), [last](double index) { return last - index; });
  return results;
}

void propose_top(const Variations& variations) {
  const Member& top = variations.member();
  variations.add("of equals the last one comes first", [&top] { return last_of_equals(top); });
  variations.add_node("it takes the other end: smallest for largest", [](Node& node) {
    const int64_t other = ops::integer_attribute(node, "largest") == 0 ? 1 : 0;
    node.version = std::max<int64_t>(node.version, 11);
    node.attributes["largest"] = other;
  });
  variations.add("what it takes comes in the order of the input", [&top] {
    return reordered(top, [](Row& places, const Row& indices) {
      std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
        return indices[static_cast<size_t>(a)] < indices[static_cast<size_t>(b)];
      });
    });
  });
  variations.add("what it takes comes in the other order: the first of it last", [&top] {
    return reordered(top, [](Row& places, const Row&) { std::reverse(places.begin(), places.end()); });
  });
}

// Rows [image, class, box] in another order.
void propose_order(const Variations& variations, const char* what,
                   const std::function<std::vector<double>(const int64_t*)>& key) {
  variations.add_result(what, [key](const Tensor& selected) {
    const auto rows = selected.to_ints();
    const size_t width = 3;
    std::vector<size_t> order(rows.size() / width);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(&rows[a * width]) < key(&rows[b * width]); });
    std::vector<int64_t> sorted;
    for (const size_t row : order)
      sorted.insert(sorted.end(), rows.begin() + static_cast<ptrdiff_t>(row * width),
                    rows.begin() + static_cast<ptrdiff_t>((row + 1) * width));
    return Tensor::from_ints(selected.type(), selected.dims(), sorted);
  });
}

void propose_suppression(const Variations& variations) {
  const Member& member = variations.member();
  const Dims& dims = member.in(1).dims();
  const auto score = [dims, scores = member.in(1).to_doubles()](const int64_t* row) {
    return scores[static_cast<size_t>((row[0] * dims[1] + row[1]) * dims[2] + row[2])];
  };
  const auto as = [](int64_t value) { return static_cast<double>(value); };
  propose_order(variations, "boxes come by their place, not by score", [=](const int64_t* row) {
    return std::vector{as(row[0]), as(row[1]), as(row[2])};
  });
  propose_order(variations, "boxes come by their place alone",
                [=](const int64_t* row) { return std::vector{as(row[2])}; });
  propose_order(variations, "boxes come by score, whatever their class", [=](const int64_t* row) {
    return std::vector{as(row[0]), -score(row)};
  });
  propose_order(variations, "boxes come by score, whatever their class and image",
                [=](const int64_t* row) { return std::vector{-score(row)}; });
  propose_order(variations, "boxes come by rising score", [=](const int64_t* row) {
    return std::vector{as(row[0]), as(row[1]), score(row)};
  });
  variations.add_node("center_point_box is read the other way", [](Node& node) {
    const int64_t other = ops::integer_attribute(node, "center_point_box") == 0 ? 1 : 0;
    node.attributes["center_point_box"] = other;
  });
  for (const size_t threshold : {size_t{3}, size_t{4}}) {
    variations.add(threshold == 3 ? "the threshold of overlaps is lost" : "the threshold of scores is lost",
                   [&member, threshold] {
                     Tensors inputs = member.inputs();
                     if (!member.has(threshold)) throw unsupported("there is no threshold");
                     inputs[threshold] = {};
                     return member.with_inputs(std::move(inputs));
                   });
  }
}

}  // namespace

void propose_ties(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                  std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("TopK")) propose_top(variations);
  if (member.is("ArgMax") || member.is("ArgMin"))
    variations.add_node("of equals it takes the other end", [](Node& node) {
      const int64_t other = ops::integer_attribute(node, "select_last_index") == 0 ? 1 : 0;
      node.version = std::max<int64_t>(node.version, 12);
      node.attributes["select_last_index"] = other;
    });
  if (member.is("NonMaxSuppression")) propose_suppression(variations);
  if (member.is("Unique"))
    variations.add_node("sorted is read the other way", [](Node& node) {
      const int64_t other = ops::integer_attribute(node, "sorted") == 0 ? 1 : 0;
      node.attributes["sorted"] = other;
    });
}

}  // namespace vernier
