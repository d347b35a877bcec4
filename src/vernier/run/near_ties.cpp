#include "vernier/run/near_ties.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/axis_rows.h"
#include "vernier/ops/support/quant/quantization.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

using Operands = std::vector<std::optional<DecisionInput>>;

// Collects flips whose margin is within the error.
class Flips {
 public:
  void offer(double margin, double error, std::vector<Flip::Edit> edits) {
    if (error > 0 && margin <= error && std::isfinite(error)) all_.push_back({std::move(edits), margin});
  }
  std::vector<Flip> best(size_t most) && {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Flip& a, const Flip& b) { return a.margin < b.margin; });
    all_.resize(std::min(all_.size(), most));
    return std::move(all_);
  }

 private:
  std::vector<Flip> all_;
};

std::vector<Flip::Edit> swap_of(int64_t a, int64_t b) {
  return {{a, b, 0}, {b, a, 0}};
}

// Finds, in a row of `x`, the element nearest to `chosen` that is not in `taken`; nothing if all are.
struct Row {
  const DecisionInput& x;
  int64_t start, step, length;

  size_t at(int64_t index) const { return static_cast<size_t>(start + index * step); }
  double margin(int64_t a, int64_t b) const { return std::abs(x.values[at(a)] - x.values[at(b)]); }
  double error(int64_t a, int64_t b) const { return x.errors[at(a)] + x.errors[at(b)]; }
  std::optional<int64_t> nearest(int64_t chosen, const std::vector<int64_t>& taken) const {
    std::optional<int64_t> best;
    for (int64_t i = 0; i < length; ++i) {
      if (std::find(taken.begin(), taken.end(), i) != taken.end()) continue;
      if (!best || margin(chosen, i) < margin(chosen, *best)) best = i;
    }
    return best;
  }
};

void add_orders(const Node& node, const DecisionInput& x, const Tensor& result, Flips& flips) {
  const auto axis = ops::integer_attribute(node, "axis");
  const ops::AxisRows rows(x.dims, axis), places(result.dims(), axis);
  const auto indices = result.to_ints();
  for (int64_t r = 0; r < rows.count() && places.length > 0; ++r) {
    const Row row{x, rows.start(r), rows.inner, rows.length};
    const auto place = [&](int64_t i) { return places.start(r) + i * places.inner; };
    std::vector<int64_t> taken;
    for (int64_t i = 0; i < places.length; ++i) taken.push_back(indices[static_cast<size_t>(place(i))]);
    for (size_t i = 0; i + 1 < taken.size(); ++i) {
      flips.offer(row.margin(taken[i], taken[i + 1]), row.error(taken[i], taken[i + 1]),
                  swap_of(place(static_cast<int64_t>(i)), place(static_cast<int64_t>(i) + 1)));
    }
    if (const auto next = row.nearest(taken.back(), taken)) {
      flips.offer(row.margin(taken.back(), *next), row.error(taken.back(), *next),
                  {{place(places.length - 1), std::nullopt, static_cast<double>(*next)}});
    }
  }
}

void add_indices(const Node& node, const DecisionInput& x, const Tensor& result, Flips& flips) {
  const ops::AxisRows rows(x.dims, ops::integer_attribute(node, "axis"));
  const auto indices = result.to_ints();
  for (int64_t r = 0; r < rows.count(); ++r) {
    const Row row{x, rows.start(r), rows.inner, rows.length};
    const int64_t chosen = indices[static_cast<size_t>(r)];
    if (const auto next = row.nearest(chosen, {chosen}))
      flips.offer(row.margin(chosen, *next), row.error(chosen, *next),
                  {{r, std::nullopt, static_cast<double>(*next)}});
  }
}

bool in_range(ElementType type, double value) {
  const ops::ValueRange range = ops::value_range(type);
  return value >= range.low && value <= range.high;
}

void add_roundings(const Node& node, const DecisionInput& x, const Tensor& result, Flips& flips) {
  const auto values = result.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const double lower = node.op == "Floor" ? values[i] : node.op == "Ceil" ? values[i] - 1 : values[i] - 0.5;
    for (const double side : {-1.0, 1.0}) {
      const double boundary = side < 0 ? lower : lower + 1;
      if (is_integer(result.type()) && !in_range(result.type(), values[i] + side)) continue;
      flips.offer(std::abs(x.values[i] - boundary), x.errors[i],
                  {{static_cast<int64_t>(i), std::nullopt, values[i] + side}});
    }
  }
}

void add_comparisons(const DecisionInput& x, const DecisionInput& y, const Tensor& result, Flips& flips) {
  const auto values = result.to_ints();
  for (int64_t i = 0; i < result.size(); ++i) {
    const size_t left = broadcast_position(i, result.dims(), x.dims),
                 right = broadcast_position(i, result.dims(), y.dims);
    flips.offer(std::abs(x.values[left] - y.values[right]), x.errors[left] + y.errors[right],
                {{i, std::nullopt, values[static_cast<size_t>(i)] != 0 ? 0.0 : 1.0}});
  }
}

// Rows [image, class, box] that follow each other within a class.
void add_suppressions(const DecisionInput& scores, const Tensor& result, Flips& flips) {
  const auto triples = result.to_ints();
  const auto score = [&](size_t row) {
    return static_cast<size_t>((triples[row] * scores.dims.at(1) + triples[row + 1]) * scores.dims.at(2) +
                               triples[row + 2]);
  };
  for (size_t row = 0; row + 5 < triples.size(); row += 3) {
    if (triples[row] != triples[row + 3] || triples[row + 1] != triples[row + 4]) continue;
    const size_t a = score(row), b = score(row + 3);
    flips.offer(std::abs(scores.values[a] - scores.values[b]), scores.errors[a] + scores.errors[b],
                swap_of(static_cast<int64_t>(row) + 2, static_cast<int64_t>(row) + 5));
  }
}

}  // namespace

std::vector<Flip> near_ties(const Node& node, const Operands& operands, const Tensor& result, size_t most) {
  Flips flips;
  const auto has = [&](size_t input) { return input < operands.size() && operands[input].has_value(); };
  const std::string& op = node.op;
  if (quantizes(node)) {
    const auto unrounded = before_rounding(node, operands);
    if (!unrounded || std::ssize(unrounded->values) != result.size()) return {};
    add_roundings(node, *unrounded, result, flips);
    return std::move(flips).best(most);
  }
  if (!has(0)) return {};
  const DecisionInput& x = *operands[0];
  if (op == "TopK") {
    add_orders(node, x, result, flips);
  } else if (op == "ArgMax" || op == "ArgMin") {
    add_indices(node, x, result, flips);
  } else if (op == "Round" || op == "Floor" || op == "Ceil") {
    add_roundings(node, x, result, flips);
  } else if (!has(1)) {
    return {};
  } else if (op == "NonMaxSuppression") {
    add_suppressions(*operands[1], result, flips);
  } else {
    add_comparisons(x, *operands[1], result, flips);
  }
  return std::move(flips).best(most);
}

Tensor flipped(const Tensor& result, const Flip& flip) {
  const auto before = result.to_doubles();
  auto values = before;
  for (const Flip::Edit& edit : flip.edits)
    values[static_cast<size_t>(edit.to)] = edit.from ? before[static_cast<size_t>(*edit.from)] : edit.value;
  return Tensor::from_doubles(result.type(), result.dims(), values);
}

}  // namespace vernier
