// Logical types of values: tensors of symbolic shape, sequences, optionals, maps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/numeric/element_type.h"
#include "vernier/tensor/dim.h"

namespace vernier {

using Shape = std::vector<Dim>;     // of known rank
using Dims = std::vector<int64_t>;  // a shape with every size known

std::string shape_text(const Shape& shape);  // "[batch, 3, 224]"
std::string dims_text(const Dims& dims);
Shape to_shape(const Dims& dims);
// The sizes, if every dimension is an integer.
std::optional<Dims> to_dims(const Shape& shape);
// Product of all dimensions; throws bad_input when it leaves 64 bits or a size is negative.
int64_t element_count(const Dims& dims);
Dim element_count(const Shape& shape);
// ONNX's multidirectional (numpy) broadcasting; throws bad_input when two sizes cannot meet.
Shape broadcast(const Shape& a, const Shape& b);
Dims broadcast(const Dims& a, const Dims& b);

struct TensorType {
  ElementType element = ElementType::kUndefined;
  std::optional<Shape> shape;  // nothing: the rank is unknown

  bool operator==(const TensorType&) const = default;
  std::string text() const;  // "f32[batch, 3]", "f32[*]" for unknown rank
};

struct ValueType {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kMap };
  Kind kind = Kind::kTensor;
  TensorType tensor;                         // kTensor; of kMap the keys, a vector
  std::shared_ptr<const ValueType> element;  // kSequence, kOptional; of kMap one value

  static ValueType of(ElementType type, std::optional<Shape> shape = std::nullopt);
  static ValueType sequence(ValueType element);
  static ValueType optional(ValueType element);
  static ValueType map(ElementType key, ValueType value);

  bool is_tensor() const { return kind == Kind::kTensor; }
  // Data of this type are sequences.
  bool has_parts() const { return kind == Kind::kSequence || kind == Kind::kMap; }
  // The type of an element of such data; those of a map are the keys and the values.
  ValueType part(size_t index) const;
  bool operator==(const ValueType& other) const;
  std::string text() const;  // "seq(f32[*])", "optional(i64[])", "map(i64, f32[*])"
};

}  // namespace vernier
