// Values of every kind that ONNX knows, for round trips.
#pragma once

#include <map>

#include "vernier/tensor/tensor.h"

namespace vernier {

inline Tensor tensor_of_type(ElementType type) {
  const Dims dims = {3, 1};
  const std::vector<double> values = {0, 1,
                                      is_unsigned_integer(type) || type == ElementType::kBool ? 1.0 : -1.0};
  if (type == ElementType::kString)
    return Tensor::from<std::string>(type, dims, {"", "schön \"quoted\"", "\xff\x01 no UTF-8"});
  if (type == ElementType::kComplex64)
    return Tensor::from<std::complex<float>>(type, dims, {{1, 2}, {0, -1}, {3, NAN}});
  if (type == ElementType::kComplex128)
    return Tensor::from<std::complex<double>>(type, dims, {{1, 2}, {0, -1}, {3, 4}});
  return Tensor::from_doubles(type, dims, values);
}

inline std::map<std::string, Datum> values_of_every_type() {
  std::map<std::string, Datum> values;
  for (int i = 1; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    values[std::string(element_type_name(type))] = tensor_of_type(type);
    values["empty " + std::string(element_type_name(type))] = Tensor(type, {2, 0});
  }
  const Tensor scalar = Tensor::scalar(7);
  values["scalar"] = scalar;
  values["none"] = Datum::none();
  values["sequence"] =
      Datum::of_sequence({scalar, tensor_of_type(ElementType::kInt4), Datum::of_sequence({scalar})});
  values["sequence/0"] =
      tensor_of_type(ElementType::kBFloat16);  // the name that an element would like to have
  values["empty sequence"] = Datum::of_sequence({});
  return values;
}

inline bool same(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  if (a.is_tensor()) return a.tensor.identical(b.tensor);
  if (a.kind == Datum::Kind::kNone) return true;
  return std::equal(a.sequence->begin(), a.sequence->end(), b.sequence->begin(), b.sequence->end(), same);
}

}  // namespace vernier
