// Logical types of values: tensors of symbolic shape, sequences, optionals.
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
  enum class Kind : uint8_t { kTensor, kSequence, kOptional };
  Kind kind = Kind::kTensor;
  TensorType tensor;                         // kTensor
  std::shared_ptr<const ValueType> element;  // kSequence, kOptional

  static ValueType of(ElementType type, std::optional<Shape> shape = std::nullopt);
  static ValueType sequence(ValueType element);
  static ValueType optional(ValueType element);

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool operator==(const ValueType& other) const;
  std::string text() const;  // "seq(f32[*])", "optional(i64[])"
};

}  // namespace vernier
