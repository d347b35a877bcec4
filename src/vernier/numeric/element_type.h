// The element types of ONNX, with ONNX's own numbers and names.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vernier/base/error.h"
#include "vernier/numeric/minifloat.h"

namespace vernier {

enum class ElementType : uint8_t {
  kUndefined = 0,
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
inline constexpr int kElementTypeCount = 27;

// Integers narrower than a byte. In memory each takes one byte; packing happens at the border to files.
template <int Bits, bool Signed>
struct SmallInt {
  using Storage = std::conditional_t<Signed, int8_t, uint8_t>;
  static constexpr int kMin = Signed ? -(1 << (Bits - 1)) : 0;
  static constexpr int kMax = Signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
  Storage value = 0;

  constexpr SmallInt() = default;
  // Keeps the low bits, as a C++ integer conversion does.
  constexpr explicit SmallInt(int64_t wide) : value(wrap(wide)) {}
  constexpr explicit operator int64_t() const { return value; }

 private:
  static constexpr Storage wrap(int64_t wide) {
    const int low = static_cast<int>(wide & ((1 << Bits) - 1));
    return static_cast<Storage>(Signed && low > kMax ? low - (1 << Bits) : low);
  }
};
using Uint4 = SmallInt<4, false>;
using Int4 = SmallInt<4, true>;
using Uint2 = SmallInt<2, false>;
using Int2 = SmallInt<2, true>;

// "FLOAT16", "INT64", … as ONNX spells them; "UNDEFINED" for a number that is no type.
std::string_view element_type_name(ElementType type);
// Short lower-case names for people and the IR text: "f32", "f16", "bf16", "i64", "u4", "bool", "f8e4m3fn", …
std::string_view element_type_short_name(ElementType type);
// Accepts both spellings; nothing for an unknown name.
std::optional<ElementType> parse_element_type(std::string_view name);

bool is_float(ElementType type);    // every real floating-point type, double included
bool is_integer(ElementType type);  // signed or unsigned, 2 to 64 bits; bool is none
bool is_signed_integer(ElementType type);
bool is_unsigned_integer(ElementType type);
bool is_complex(ElementType type);
// Bytes of one element in memory: 1 for types narrower than a byte, sizeof(std::string) for strings.
size_t element_size(ElementType type);
// Bits of one element in a file: 2, 4, 8, … ; 0 for strings.
int element_bits(ElementType type);
// Smallest and largest value; only for types with is_integer.
int64_t integer_min(ElementType type);
uint64_t integer_max(ElementType type);

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) with the C++ type that stores `type` in memory. Every type but kUndefined has one.
template <class F>
decltype(auto) visit_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kFloat: return f(TypeTag<float>{});
    case ElementType::kUint8: return f(TypeTag<uint8_t>{});
    case ElementType::kInt8: return f(TypeTag<int8_t>{});
    case ElementType::kUint16: return f(TypeTag<uint16_t>{});
    case ElementType::kInt16: return f(TypeTag<int16_t>{});
    case ElementType::kInt32: return f(TypeTag<int32_t>{});
    case ElementType::kInt64: return f(TypeTag<int64_t>{});
    case ElementType::kString: return f(TypeTag<std::string>{});
    case ElementType::kBool: return f(TypeTag<bool>{});
    case ElementType::kFloat16: return f(TypeTag<Float16>{});
    case ElementType::kDouble: return f(TypeTag<double>{});
    case ElementType::kUint32: return f(TypeTag<uint32_t>{});
    case ElementType::kUint64: return f(TypeTag<uint64_t>{});
    case ElementType::kComplex64: return f(TypeTag<std::complex<float>>{});
    case ElementType::kComplex128: return f(TypeTag<std::complex<double>>{});
    case ElementType::kBFloat16: return f(TypeTag<BFloat16>{});
    case ElementType::kFloat8E4M3FN: return f(TypeTag<Float8E4M3FN>{});
    case ElementType::kFloat8E4M3FNUZ: return f(TypeTag<Float8E4M3FNUZ>{});
    case ElementType::kFloat8E5M2: return f(TypeTag<Float8E5M2>{});
    case ElementType::kFloat8E5M2FNUZ: return f(TypeTag<Float8E5M2FNUZ>{});
    case ElementType::kUint4: return f(TypeTag<Uint4>{});
    case ElementType::kInt4: return f(TypeTag<Int4>{});
    case ElementType::kFloat4E2M1: return f(TypeTag<Float4E2M1>{});
    case ElementType::kFloat8E8M0: return f(TypeTag<Float8E8M0>{});
    case ElementType::kUint2: return f(TypeTag<Uint2>{});
    case ElementType::kInt2: return f(TypeTag<Int2>{});
    case ElementType::kUndefined: break;
  }
  throw internal_error("element type {} has no storage", static_cast<int>(type));
}

}  // namespace vernier
