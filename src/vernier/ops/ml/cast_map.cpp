// CastMap (ai.onnx.ml): the values of a map with integer keys as one row, converted. DENSE puts them side by
// side in the order of their keys, SPARSE each at the place that its key names; others are 0.
#include <numeric>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/text/number_text.h"

namespace vernier::ops {

namespace {

ElementType target_of(const Node& node) {
  const auto name = node.attribute<std::string>("cast_to", "TO_FLOAT");
  if (name == "TO_FLOAT") return ElementType::kFloat;
  if (name == "TO_INT64") return ElementType::kInt64;
  if (name == "TO_STRING") return ElementType::kString;
  throw bad_input("cast_to must be TO_FLOAT, TO_INT64 or TO_STRING, not '{}'", name);
}

bool is_sparse(const Node& node) {
  const auto form = node.attribute<std::string>("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE")
    throw bad_input("map_form must be DENSE or SPARSE, not '{}'", form);
  return form == "SPARSE";
}

int64_t sparse_width(const Node& node) {
  const auto width = node.attribute<int64_t>("max_map", 1);
  if (width < 1) throw bad_input("max_map is {}", width);
  return width;
}

void infer_cast_map(InferContext& context) {
  const ValueType& type = context.type(0);
  if (type.kind != ValueType::Kind::kMap || type.tensor.element != ElementType::kInt64)
    throw bad_input("CastMap takes a map with keys of i64, not {}", type.text());
  const Dim width = is_sparse(context.node()) ? Dim(sparse_width(context.node())) : context.fresh("entries");
  context.set_output(0, target_of(context.node()), Shape{1, width});
}

// The column of each value and their number.
std::pair<std::vector<int64_t>, int64_t> columns_of(const Node& node, const Tensor& keys) {
  std::vector<int64_t> columns = keys.to_ints();
  if (!is_sparse(node)) {
    std::iota(columns.begin(), columns.end(), int64_t{0});
    return {columns, keys.size()};
  }
  const int64_t width = sparse_width(node);
  for (const int64_t column : columns) {
    if (column < 0 || column >= width)
      throw bad_input("a map has the key {}, but max_map is {}", column, width);
  }
  return {columns, width};
}

template <class T, class Convert>
std::vector<T> row_of(const std::vector<int64_t>& columns, int64_t width, T missing, const Convert& convert) {
  std::vector<T> row(static_cast<size_t>(width), missing);
  for (size_t i = 0; i < columns.size(); ++i) row[static_cast<size_t>(columns[i])] = convert(i);
  return row;
}

void reference_cast_map(ReferenceContext& context) {
  const auto [keys, values] = context.datum(0).as_map();
  const auto [columns, width] = columns_of(context.node(), keys);
  const bool from_text = values.type() == ElementType::kString;
  const auto texts = from_text ? values.values<std::string>() : std::span<const std::string>();
  const auto numbers = from_text ? std::vector<double>() : values.to_doubles();
  const Dims dims = {1, width};
  switch (target_of(context.node())) {
    case ElementType::kFloat:
      return context.store(0, dims, row_of(columns, width, 0.0, [&](size_t i) {
                             return from_text ? parse_real(texts[i]) : numbers[i];
                           }));
    case ElementType::kInt64:
      return context.store_ints(
          0, dims, row_of(columns, width, int64_t{0}, [&](size_t i) {
            return from_text ? parse_integer(texts[i])
                             : Tensor::from_doubles(ElementType::kInt64, {1}, {&numbers[i], 1}).to_ints()[0];
          }));
    default: break;
  }
  // Engines write six digits behind the point, and the zero as C++ does.
  const auto row = row_of(columns, width, std::string("0.f"),
                          [&](size_t i) { return from_text ? texts[i] : fmt::format("{:f}", numbers[i]); });
  std::copy(row.begin(), row.end(), context.allocate(0, dims).mutable_values<std::string>().begin());
}

}  // namespace

void register_cast_map(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "CastMap",
                .operands = {Role::kData},
                .attributes = {{"cast_to", "STRING"}, {"map_form", "STRING"}, {"max_map", "INT"}},
                .infer = infer_cast_map,
                .reference = reference_cast_map});
}

}  // namespace vernier::ops
