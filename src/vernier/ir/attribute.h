// Attributes of a node: an ordered map from name to value. One representation gives printing, parsing,
// hashing, equality and export for every operator; the schema of the operator (ops/op_def.h) says which names
// and types are legal.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

class Attribute {
 public:
  using Variant =
      std::variant<int64_t, float, std::string, Tensor, ValueType, std::vector<int64_t>, std::vector<float>,
                   std::vector<std::string>, std::vector<Tensor>, std::vector<ValueType>>;
  // Defined in one file: what a variant and its vectors do is much to compile.
  Attribute();
  ~Attribute();
  Attribute(const Attribute& other);
  Attribute(Attribute&& other) noexcept;
  Attribute& operator=(const Attribute& other);
  Attribute& operator=(Attribute&& other) noexcept;
  template <class T>
  requires std::is_constructible_v<Variant, T> Attribute(T value)
      : value_(std::move(value)) {}  // NOLINT: a value is an attribute

  const Variant& value() const { return value_; }
  // Throws bad_input when the attribute holds another type.
  template <class T>
  const T& get() const {
    if (const T* found = std::get_if<T>(&value_)) return *found;
    throw bad_input("has the type {}", type_name());
  }
  // "INT", "FLOATS", … as ONNX names attribute types.
  std::string_view type_name() const;
  bool operator==(const Attribute& other) const;

 private:
  Variant value_;
};

using AttributeMap = std::map<std::string, Attribute, std::less<>>;

}  // namespace vernier
