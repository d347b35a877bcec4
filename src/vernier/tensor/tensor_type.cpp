#include "vernier/tensor/tensor_type.h"

#include <algorithm>

namespace vernier {

namespace {

template <class Sizes, class Print>
std::string list_text(const Sizes& sizes, Print print) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + print(sizes[i]);
  return text + "]";
}

template <class Size, class Meet>
std::vector<Size> broadcast_with(const std::vector<Size>& a, const std::vector<Size>& b, Meet meet) {
  std::vector<Size> result(std::max(a.size(), b.size()), Size(1));
  std::copy(a.begin(), a.end(), result.end() - static_cast<std::ptrdiff_t>(a.size()));
  const size_t offset = result.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) result[offset + i] = meet(result[offset + i], b[i]);
  return result;
}

}  // namespace

std::string shape_text(const Shape& shape) {
  return list_text(shape, [](const Dim& dim) { return dim.text(); });
}

std::string dims_text(const Dims& dims) {
  return list_text(dims, [](int64_t dim) { return fmt::format("{}", dim); });
}

Shape to_shape(const Dims& dims) {
  return Shape(dims.begin(), dims.end());
}

std::optional<Dims> to_dims(const Shape& shape) {
  Dims dims;
  for (const Dim& dim : shape) {
    if (!dim.is_constant()) return std::nullopt;
    dims.push_back(*dim.constant());
  }
  return dims;
}

int64_t element_count(const Dims& dims) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) throw bad_input("shape {} has a negative size", dims_text(dims));
    empty = empty || dim == 0;
    if (dim != 0 && __builtin_mul_overflow(count, dim, &count))
      throw bad_input("shape {} has too many elements", dims_text(dims));
  }
  return empty ? 0 : count;
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

Shape broadcast(const Shape& a, const Shape& b) {
  return broadcast_with<Dim>(a, b, [&](const Dim& left, const Dim& right) -> Dim {
    if (left == right || right == Dim(1)) return left;
    if (left == Dim(1)) return right;
    if (left.is_constant() && right.is_constant()) {
      throw bad_input("shapes {} and {} do not broadcast", shape_text(a), shape_text(b));
    }
    // An integer above 1 decides: the other side is equal to it or 1. Two symbols: equal, or one of them
    // is 1.
    if (left.is_constant()) return left;
    if (right.is_constant()) return right;
    return max(left, right);
  });
}

Dims broadcast(const Dims& a, const Dims& b) {
  return broadcast_with<int64_t>(a, b, [&](int64_t left, int64_t right) {
    if (left == right || right == 1) return left;
    if (left == 1) return right;
    throw bad_input("shapes {} and {} do not broadcast", dims_text(a), dims_text(b));
  });
}

std::string TensorType::text() const {
  return std::string(element_type_short_name(element)) + (shape ? shape_text(*shape) : "[*]");
}

ValueType ValueType::of(ElementType type, std::optional<Shape> shape) {
  ValueType result;
  result.tensor = {type, std::move(shape)};
  return result;
}

ValueType ValueType::sequence(ValueType element) {
  ValueType result;
  result.kind = Kind::kSequence;
  result.element = std::make_shared<const ValueType>(std::move(element));
  return result;
}

ValueType ValueType::optional(ValueType element) {
  ValueType result;
  result.kind = Kind::kOptional;
  result.element = std::make_shared<const ValueType>(std::move(element));
  return result;
}

ValueType ValueType::map(ElementType key, ValueType value) {
  ValueType result;
  result.kind = Kind::kMap;
  result.tensor.element = key;
  result.element = std::make_shared<const ValueType>(std::move(value));
  return result;
}

ValueType ValueType::part(size_t index) const {
  if (kind == Kind::kMap) return of(index == 0 ? tensor.element : element->tensor.element);
  return *element;
}

bool ValueType::operator==(const ValueType& other) const {
  if (kind != other.kind) return false;
  if (kind == Kind::kTensor) return tensor == other.tensor;
  if (kind == Kind::kMap && tensor.element != other.tensor.element) return false;
  return element && other.element ? *element == *other.element : element == other.element;
}

std::string ValueType::text() const {
  const std::string inner = element ? element->text() : "?";
  switch (kind) {
    case Kind::kTensor: return tensor.text();
    case Kind::kSequence: return "seq(" + inner + ")";
    case Kind::kOptional: return "optional(" + inner + ")";
    case Kind::kMap: return fmt::format("map({}, {})", element_type_short_name(tensor.element), inner);
  }
  return {};
}

}  // namespace vernier
