#include "vernier/run/ties.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/axis_rows.h"
#include "vernier/run/tie_record.h"

namespace vernier {

namespace {

using Operands = std::vector<std::optional<DecisionInput>>;
using Find = void (*)(const Node&, const Operands&, const Tensor& reference, const Tensor& actual,
                      TieRecord&);

// A row of TopK whose order differs. The k-th largest element moves by no more than any element does, so a
// place may pass between two elements that are no further apart than twice the largest error among those
// that moved.
void add_row(const DecisionInput& x, int64_t start, int64_t step, int64_t length,
             const std::vector<int64_t>& expected, const std::vector<int64_t>& got, TieRecord& record) {
  std::set<int64_t> moved;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] < 0 || got[i] >= length) return record.refuse();
    if (expected[i] != got[i]) moved.insert({expected[i], got[i]});
  }
  if (std::set<int64_t>(got.begin(), got.end()).size() != got.size()) return record.refuse();
  const auto at = [&](int64_t index) { return static_cast<size_t>(start + index * step); };
  double largest = 0, sum = 0;
  for (const int64_t index : moved) {
    largest = std::max(largest, x.errors[at(index)]);
    sum += x.errors[at(index)];
  }
  const double error = moved.size() == 2 ? sum : 2 * largest;
  for (size_t i = 0; i < got.size(); ++i) {
    if (expected[i] == got[i]) continue;
    record.add(x.values[at(expected[i])], x.values[at(got[i])], error);
    record.count(1);
  }
}

void find_order_ties(const Node& node, const Operands& operands, const Tensor& reference,
                     const Tensor& actual, TieRecord& record) {
  const DecisionInput& x = *operands.at(0);
  const auto axis = ops::integer_attribute(node, "axis");
  const ops::AxisRows rows(x.dims, axis), chosen(reference.dims(), axis);
  const auto expected = reference.to_ints(), got = actual.to_ints();
  for (int64_t row = 0; row < rows.count() && !record.refused(); ++row) {
    std::vector<int64_t> a, b;
    for (int64_t i = 0; i < chosen.length; ++i) {
      const auto at = static_cast<size_t>(chosen.start(row) + i * chosen.inner);
      a.push_back(expected[at]);
      b.push_back(got[at]);
    }
    if (a != b) add_row(x, rows.start(row), rows.inner, rows.length, a, b, record);
  }
}

void find_index_ties(const Node& node, const Operands& operands, const Tensor& reference,
                     const Tensor& actual, TieRecord& record) {
  const DecisionInput& x = *operands.at(0);
  const ops::AxisRows rows(x.dims, ops::integer_attribute(node, "axis"));
  const auto expected = reference.to_ints(), got = actual.to_ints();
  for (int64_t row = 0; row < rows.count(); ++row) {
    const int64_t a = expected[static_cast<size_t>(row)], b = got[static_cast<size_t>(row)];
    if (a == b) continue;
    if (b < 0 || b >= rows.length) return record.refuse();
    const auto at = [&](int64_t index) { return static_cast<size_t>(rows.start(row) + index * rows.inner); };
    record.add(x.values[at(a)], x.values[at(b)], x.errors[at(a)] + x.errors[at(b)]);
    record.count(1);
  }
}

// Neighbouring integers, and the value beside what lies between them.
void find_rounding_ties(const Node& node, const Operands& operands, const Tensor& reference,
                        const Tensor& actual, TieRecord& record) {
  const DecisionInput& x = *operands.at(0);
  const auto expected = reference.to_doubles(), got = actual.to_doubles();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    if (std::abs(expected[i] - got[i]) != 1) return record.refuse();
    const double boundary = node.op == "Round"   ? (expected[i] + got[i]) / 2
                            : node.op == "Floor" ? std::max(expected[i], got[i])
                                                 : std::min(expected[i], got[i]);
    record.add(x.values[i], boundary, x.errors[i]);
    record.count(1);
  }
}

// Neighbouring integers of a scale, and the value in its steps beside the middle between them.
void find_quantization_ties(const Node& node, const Operands& operands, const Tensor& reference,
                            const Tensor& actual, TieRecord& record) {
  const auto x = before_rounding(node, operands);
  const auto expected = reference.to_doubles(), got = actual.to_doubles();
  if (!x || x->values.size() != expected.size()) return record.refuse();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    if (std::abs(expected[i] - got[i]) != 1) return record.refuse();
    record.add(x->values[i], (expected[i] + got[i]) / 2, x->errors[i]);
    record.count(1);
  }
}

void find_comparison_ties(const Node&, const Operands& operands, const Tensor& reference,
                          const Tensor& actual, TieRecord& record) {
  const DecisionInput &x = *operands.at(0), &y = *operands.at(1);
  const auto expected = reference.to_ints(), got = actual.to_ints();
  for (int64_t i = 0; i < reference.size(); ++i) {
    if (expected[static_cast<size_t>(i)] == got[static_cast<size_t>(i)]) continue;
    const size_t left = broadcast_position(i, reference.dims(), x.dims),
                 right = broadcast_position(i, reference.dims(), y.dims);
    record.add(x.values[left], y.values[right], x.errors[left] + y.errors[right]);
    record.count(1);
  }
}

struct Kind {
  std::string_view op;
  size_t inputs;  // that it must have
  bool may_resize;
  Find find;
};

constexpr Kind kKinds[] = {
    {"TopK", 1, false, find_order_ties},
    {"ArgMax", 1, false, find_index_ties},
    {"ArgMin", 1, false, find_index_ties},
    {"NonMaxSuppression", 2, true, find_suppression_ties},
    {"Round", 1, false, find_rounding_ties},
    {"Floor", 1, false, find_rounding_ties},
    {"Ceil", 1, false, find_rounding_ties},
    {"Greater", 2, false, find_comparison_ties},
    {"GreaterOrEqual", 2, false, find_comparison_ties},
    {"Less", 2, false, find_comparison_ties},
    {"LessOrEqual", 2, false, find_comparison_ties},
    {"Equal", 2, false, find_comparison_ties},
};

constexpr Kind kQuantizing{"", 1, false, find_quantization_ties};

const Kind* kind_of(const Node& node) {
  if (quantizes(node)) return &kQuantizing;
  if (!node.domain.empty()) return nullptr;
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& kind) { return kind.op == node.op; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

size_t broadcast_position(int64_t index, const Dims& to, const Dims& dims) {
  int64_t position = 0, stride = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t along = index % to[to.size() - 1 - i];
    index /= to[to.size() - 1 - i];
    if (i >= dims.size()) continue;
    const int64_t size = dims[dims.size() - 1 - i];
    if (size != 1) position += along * stride;
    stride *= size;
  }
  return static_cast<size_t>(position);
}

bool is_decision(const Node& node) {
  return kind_of(node) != nullptr;
}

const Value* decision_of(const Node& node) {
  return node.output(node.op == "TopK" ? 1 : 0);
}

std::optional<Decision> find_tie(const Node& node, const Operands& operands, const Tensor& reference,
                                 const Tensor& actual) {
  const Kind* kind = kind_of(node);
  for (size_t i = 0; i < kind->inputs; ++i) {
    if (i >= operands.size() || !operands[i]) return std::nullopt;
  }
  if (!kind->may_resize && reference.dims() != actual.dims()) return std::nullopt;
  TieRecord record(node);
  kind->find(node, operands, reference, actual, record);
  return record.result();
}

}  // namespace vernier
