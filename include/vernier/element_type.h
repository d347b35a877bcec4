// Element types of tensors; part of vernier.h.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

namespace vernier::v1 {

// With the numbers of ONNX's TensorProto.DataType.
enum class ElementType : uint8_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// The element type that a C++ type stores; types without one of C++ (float16, …) go as void*.
template <class T>
inline constexpr ElementType kElementTypeOf = [] {
  static_assert(sizeof(T) == 0, "no element type is stored as T; give the ElementType and a void*");
  return ElementType::kFloat;
}();
template <>
inline constexpr ElementType kElementTypeOf<float> = ElementType::kFloat;
template <>
inline constexpr ElementType kElementTypeOf<double> = ElementType::kDouble;
template <>
inline constexpr ElementType kElementTypeOf<int8_t> = ElementType::kInt8;
template <>
inline constexpr ElementType kElementTypeOf<int16_t> = ElementType::kInt16;
template <>
inline constexpr ElementType kElementTypeOf<int32_t> = ElementType::kInt32;
template <>
inline constexpr ElementType kElementTypeOf<int64_t> = ElementType::kInt64;
template <>
inline constexpr ElementType kElementTypeOf<uint8_t> = ElementType::kUint8;
template <>
inline constexpr ElementType kElementTypeOf<uint16_t> = ElementType::kUint16;
template <>
inline constexpr ElementType kElementTypeOf<uint32_t> = ElementType::kUint32;
template <>
inline constexpr ElementType kElementTypeOf<uint64_t> = ElementType::kUint64;
template <>
inline constexpr ElementType kElementTypeOf<bool> = ElementType::kBool;
template <>
inline constexpr ElementType kElementTypeOf<std::string> = ElementType::kString;
template <>
inline constexpr ElementType kElementTypeOf<std::complex<float>> = ElementType::kComplex64;
template <>
inline constexpr ElementType kElementTypeOf<std::complex<double>> = ElementType::kComplex128;

}  // namespace vernier::v1
