// Products and sums in parts: of operands, of which each has few bits, and of terms.
#include <cmath>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kFloatBits = 24;

struct Parts {
  Value *high = nullptr, *low = nullptr;
};

// The number rounded to so many bits, and what is left: by Veltkamp's product for what is computed.
Parts parts_of(Replacement& node, Value* value, int bits) {
  if (const Tensor* held = constant_of(value)) {
    auto high = held->to_doubles(), low = high;
    const double factor = std::ldexp(1.0, kFloatBits - bits) + 1;
    for (size_t i = 0; i < high.size(); ++i) {
      const auto x = static_cast<float>(high[i]), large = static_cast<float>(x * factor);
      const float rounded = large - (large - x);
      high[i] = rounded;
      low[i] = x - rounded;
    }
    return {node.constant(Tensor::from_doubles(held->type(), held->dims(), high)),
            node.constant(Tensor::from_doubles(held->type(), held->dims(), low))};
  }
  Value* large = node("Mul", {value, node.scalar(std::ldexp(1.0, kFloatBits - bits) + 1)});
  Value* high = node("Sub", {large, node("Sub", {large, value})});
  return {high, node("Sub", {value, high})};
}

std::vector<Value*> with(const Node& own, Value* first, Value* second, bool bias) {
  std::vector<Value*> operands(own.inputs);
  operands[0] = first;
  operands[1] = second;
  if (!bias && operands.size() > 2) operands.resize(2);
  return operands;
}

// MatMul by a constant matrix, in parts of the terms.
bool split_product(Replacement& node, int64_t terms) {
  const Node& own = node.node();
  const auto held = sizes_of_value(own.input(1));
  if (!held || held->size() < 2) return false;
  const auto axis = static_cast<int64_t>(held->size()) - 2;
  const int64_t count = (*held)[static_cast<size_t>(axis)];
  if (count <= terms) return false;
  std::vector<Value*> parts;
  for (int64_t at = 0; at < count; at += terms) {
    const int64_t end = std::min(count, at + terms);
    parts.push_back(
        node("MatMul", {node.slice(own.input(0), -1, at, end), node.slice(own.input(1), axis, at, end)}));
  }
  // In pairs, and these in pairs: errors of sums that are as large as each other stay small.
  while (parts.size() > 1) {
    std::vector<Value*> sums;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) sums.push_back(node("Add", {parts[i], parts[i + 1]}));
    if (parts.size() % 2 == 1) sums.push_back(parts.back());
    parts = std::move(sums);
  }
  return true;
}

// A Conv in parts of its input channels.
bool split_convolution(Replacement& node, int64_t terms) {
  const Node& own = node.node();
  const auto held = sizes_of_value(own.input(1));
  if (!held || ops::integer_attribute(own, "group") != 1) return false;
  int64_t taps = 1;
  for (size_t i = 2; i < held->size(); ++i) taps *= (*held)[i];
  const int64_t channels = (*held)[1], step = std::max<int64_t>(1, terms / taps);
  if (channels <= step) return false;
  Value* total = nullptr;
  for (int64_t at = 0; at < channels; at += step) {
    const int64_t end = std::min(channels, at + step);
    std::vector<Value*> operands{node.slice(own.input(0), 1, at, end), node.slice(own.input(1), 1, at, end)};
    if (at == 0 && own.input(2) != nullptr) operands.push_back(own.input(2));
    Value* part = node.copy(operands);
    total = total == nullptr ? part : node("Add", {total, part});
  }
  return true;
}

// A sum over the last axis: of rows of so many elements, of their sums, and so on.
bool split_reduction(Replacement& node, int64_t terms) {
  const Node& own = node.node();
  const auto& shape = own.input(0)->type.tensor.shape;
  auto axes = own.attribute<std::vector<int64_t>>("axes", {});
  if (const Tensor* held = constant_of(own.input(1))) axes = held->to_ints();
  if (!shape || axes.size() != 1) return false;
  const auto rank = static_cast<int64_t>(shape->size());
  const auto length = shape->back().constant();
  if ((axes[0] != -1 && axes[0] != rank - 1) || !length || *length <= terms) return false;
  Value* part = own.input(0);
  int64_t left = *length;
  while (left > terms) {
    int64_t row = terms;
    while (row > 1 && left % row != 0) --row;
    if (row == 1) break;
    left /= row;
    std::vector<int64_t> sizes(static_cast<size_t>(rank) - 1, 0);
    sizes.insert(sizes.end(), {left, row});
    part = node.reduce(own.op, node.reshape(part, sizes), {rank}, false);
  }
  if (part == own.input(0)) return false;
  node.reduce(own.op, part, {rank - 1}, ops::integer_attribute(own, "keepdims") != 0);
  return true;
}

}  // namespace

bool split_operands(Replacement& node, int bits) {
  const Node& own = node.node();
  if ((own.op != "MatMul" && own.op != "Conv" && own.op != "Gemm") || node.type() != ElementType::kFloat)
    return false;
  // The bias of a Conv is an operand that would be cut, too.
  const auto rank = known_rank(*own.output(0));
  const bool apart = own.op == "Conv" && own.input(2) != nullptr && rank && *rank > 2;
  const Parts x = parts_of(node, own.input(0), bits), w = parts_of(node, own.input(1), bits);
  // The smallest of them first.
  Value* small = node.copy(with(own, x.low, w.high, false));
  Value* other = node.copy(with(own, x.high, w.low, false));
  Value* rest = node("Add", {small, other});
  if (apart) {
    std::vector<int64_t> sizes(*rank - 1, 1);
    sizes[0] = -1;
    rest = node("Add", {rest, node.reshape(own.input(2), sizes)});
  }
  Value* main = node.copy(with(own, x.high, w.high, own.input(2) != nullptr && !apart));
  node("Add", {main, rest});
  return true;
}

bool write_product(Replacement& node) {
  const Node& own = node.node();
  const auto sizes = sizes_of_value(own.input(1));
  const auto rank = known_rank(*own.input(0));
  if (own.op != "MatMul" || !sizes || sizes->size() < 2 || !rank || *rank < 2) return false;
  // All products are held at once: of the batch nothing may be known, so of the rest there must be few.
  constexpr int64_t kMostOfARow = int64_t{1} << 20;
  const size_t last = sizes->size() - 1;
  if ((*sizes)[last] * (*sizes)[last - 1] > kMostOfARow) return false;
  Value* rows = node.unsqueeze(own.input(0), static_cast<int64_t>(*rank));
  Value* columns =
      last == 1 ? own.input(1) : node.unsqueeze(own.input(1), static_cast<int64_t>(sizes->size()) - 2);
  node.reduce("ReduceSum", node("Mul", {rows, columns}), {-2}, false);
  return true;
}

bool split_sum(Replacement& node, int64_t terms) {
  const Node& own = node.node();
  if (own.op == "MatMul") return split_product(node, terms);
  if (own.op == "Conv") return split_convolution(node, terms);
  return (own.op == "ReduceSum" || own.op == "ReduceMean") && split_reduction(node, terms);
}

}  // namespace vernier
