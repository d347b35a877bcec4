// Unique: the different elements, or slices along `axis`, ascending or in the order of their first
// occurrence; with the index of that occurrence, the place of every input slice among the unique ones, and
// how often each occurs. com.microsoft: of a list, in the order of occurrence, without the second output.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/movement/index_offsets.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// Slices along an axis: element (o, i, k) lies at (o * length + i) * inner + k.
struct Slices {
  int64_t outer, length, inner;
};

// Without an axis every element is a slice.
Slices slices_of(const Node& node, const Dims& dims) {
  if (node.find_attribute("axis") == nullptr) return {1, element_count(dims), 1};
  const auto rank = static_cast<int64_t>(dims.size());
  const auto axis = static_cast<size_t>(normalize_axis(node.attribute<int64_t>("axis", 0), rank));
  return {product(dims, 0, axis), dims[axis], product(dims, axis + 1, dims.size())};
}

// Negative, zero or positive. As in numpy, NaN is above all numbers and equal to itself.
template <class T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(a) || std::isnan(b))
      return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

template <class T>
int compare_slices(const T* values, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t o = 0; o < slices.outer; ++o) {
    const T* row = values + o * slices.length * slices.inner;
    for (int64_t k = 0; k < slices.inner; ++k) {
      const int order = compare(row[a * slices.inner + k], row[b * slices.inner + k]);
      if (order != 0) return order;
    }
  }
  return 0;
}

struct Groups {
  std::vector<int64_t> first, of_slice, counts;
};

template <class T>
Groups group(const T* values, const Slices& slices, bool ascending) {
  std::vector<int64_t> order(static_cast<size_t>(slices.length));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  // Stable, so that the first of equals is their first occurrence.
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare_slices(values, slices, a, b) < 0; });
  std::vector<std::vector<int64_t>> members;
  for (const int64_t slice : order) {
    if (members.empty() || compare_slices(values, slices, members.back()[0], slice) != 0)
      members.emplace_back();
    members.back().push_back(slice);
  }
  if (!ascending) std::sort(members.begin(), members.end());
  Groups result;
  result.of_slice.resize(order.size());
  for (size_t i = 0; i < members.size(); ++i) {
    result.first.push_back(members[i][0]);
    result.counts.push_back(static_cast<int64_t>(members[i].size()));
    for (const int64_t slice : members[i])
      result.of_slice[static_cast<size_t>(slice)] = static_cast<int64_t>(i);
  }
  return result;
}

Groups group(const ReferenceContext& context, const Slices& slices, bool ascending) {
  const Tensor& input = context.in(0);
  if (input.type() == ElementType::kString)
    return group(input.values<std::string>().data(), slices, ascending);
  Groups result;
  visit_arithmetic(input.type(), [&]<class T>(T) {
    const auto values = arithmetic_elements<T>(context, 0);
    result = group(values.data(), slices, ascending);
  });
  return result;
}

void infer_unique(InferContext& context) {
  const Dim count = context.fresh("unique");
  const auto& input = context.shape(0);
  const bool flat = context.node().find_attribute("axis") == nullptr;
  std::optional<Shape> result;
  Dim slices;
  if (flat) {
    result = Shape{count};
    slices = input ? element_count(*input) : context.fresh("unique");
  } else if (input) {
    const auto rank = static_cast<int64_t>(input->size());
    const auto axis = static_cast<size_t>(normalize_axis(context.attribute<int64_t>("axis", 0), rank));
    result = *input;
    slices = (*input)[axis];
    (*result)[axis] = count;
  } else {
    slices = context.fresh("unique");
  }
  context.set_output(0, context.element(0), std::move(result));
  context.set_output(1, ElementType::kInt64, Shape{count});
  context.set_output(2, ElementType::kInt64, Shape{slices});
  context.set_output(3, ElementType::kInt64, Shape{count});
}

void reference_unique(ReferenceContext& context) {
  const Slices slices = slices_of(context.node(), context.dims(0));
  const Groups groups = group(context, slices, integer_attribute(context.node(), "sorted") != 0);
  const auto count = static_cast<int64_t>(groups.first.size());
  Dims dims = {count};
  if (context.node().find_attribute("axis") != nullptr) {
    dims = context.dims(0);
    dims[static_cast<size_t>(normalize_axis(context.attribute<int64_t>("axis", 0), context.in(0).rank()))] =
        count;
  }
  if (context.wants(0)) {
    const auto picked = axis_offsets({slices.outer, slices.length, slices.inner}, 1, groups.first);
    gather_blocks(context.in(0), picked.offsets, picked.block, context.allocate(0, dims));
  }
  context.store_ints(1, {count}, groups.first);
  context.store_ints(2, {slices.length}, groups.of_slice);
  context.store_ints(3, {count}, groups.counts);
}

void infer_list(InferContext& context) {
  const auto& input = context.shape(0);
  if (input && input->size() != 1) throw bad_input("{} is no list", shape_text(*input));
  const Dim count = context.fresh("unique");
  context.set_output(0, context.element(0), Shape{count});
  context.set_output(1, ElementType::kInt64, input);
  context.set_output(2, ElementType::kInt64, Shape{count});
}

void reference_list(ReferenceContext& context) {
  const Groups groups = group(context, slices_of(context.node(), context.dims(0)), false);
  const auto count = static_cast<int64_t>(groups.first.size());
  gather_blocks(context.in(0), groups.first, 1, context.allocate(0, {count}));
  context.store_ints(1, context.dims(0), groups.of_slice);
  context.store_ints(2, {count}, groups.counts);
}

}  // namespace

void register_unique(OpRegistry& registry) {
  registry.add({.op = "Unique",
                .operands = {Role::kData},
                .max_outputs = 4,
                .attributes = {{"axis", "INT"}, {"sorted", "INT"}},
                .precision = PrecisionClass::kUntried,
                .since = {0, 11},
                .infer = infer_unique,
                .reference = reference_unique,
                .flops = no_flops});
  registry.add({.domain = "com.microsoft",
                .op = "Unique",
                .operands = {Role::kData},
                .min_outputs = 3,
                .max_outputs = 3,
                .infer = infer_list,
                .reference = reference_list,
                .flops = no_flops});
}

}  // namespace vernier::ops
