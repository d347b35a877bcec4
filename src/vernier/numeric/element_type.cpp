#include "vernier/numeric/element_type.h"

#include <array>
#include <limits>

namespace vernier {

namespace {

enum class Class : uint8_t { kNone, kFloat, kSigned, kUnsigned, kComplex, kOther };

struct Row {
  std::string_view name, short_name;
  Class type_class;
  uint8_t bits;
};

// Indexed by ElementType.
constexpr std::array<Row, kElementTypeCount> kRows = {{
    {"UNDEFINED", "?", Class::kNone, 0},
    {"FLOAT", "f32", Class::kFloat, 32},
    {"UINT8", "u8", Class::kUnsigned, 8},
    {"INT8", "i8", Class::kSigned, 8},
    {"UINT16", "u16", Class::kUnsigned, 16},
    {"INT16", "i16", Class::kSigned, 16},
    {"INT32", "i32", Class::kSigned, 32},
    {"INT64", "i64", Class::kSigned, 64},
    {"STRING", "string", Class::kOther, 0},
    {"BOOL", "bool", Class::kOther, 8},
    {"FLOAT16", "f16", Class::kFloat, 16},
    {"DOUBLE", "f64", Class::kFloat, 64},
    {"UINT32", "u32", Class::kUnsigned, 32},
    {"UINT64", "u64", Class::kUnsigned, 64},
    {"COMPLEX64", "c64", Class::kComplex, 64},
    {"COMPLEX128", "c128", Class::kComplex, 128},
    {"BFLOAT16", "bf16", Class::kFloat, 16},
    {"FLOAT8E4M3FN", "f8e4m3fn", Class::kFloat, 8},
    {"FLOAT8E4M3FNUZ", "f8e4m3fnuz", Class::kFloat, 8},
    {"FLOAT8E5M2", "f8e5m2", Class::kFloat, 8},
    {"FLOAT8E5M2FNUZ", "f8e5m2fnuz", Class::kFloat, 8},
    {"UINT4", "u4", Class::kUnsigned, 4},
    {"INT4", "i4", Class::kSigned, 4},
    {"FLOAT4E2M1", "f4e2m1", Class::kFloat, 4},
    {"FLOAT8E8M0", "f8e8m0", Class::kFloat, 8},
    {"UINT2", "u2", Class::kUnsigned, 2},
    {"INT2", "i2", Class::kSigned, 2},
}};

const Row& row(ElementType type) {
  const auto index = static_cast<size_t>(type);
  return kRows[index < kRows.size() ? index : 0];
}

}  // namespace

std::string_view element_type_name(ElementType type) {
  return row(type).name;
}
std::string_view element_type_short_name(ElementType type) {
  return row(type).short_name;
}

std::optional<ElementType> parse_element_type(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (name == kRows[i].name || name == kRows[i].short_name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

bool is_float(ElementType type) {
  return row(type).type_class == Class::kFloat;
}
bool is_signed_integer(ElementType type) {
  return row(type).type_class == Class::kSigned;
}
bool is_unsigned_integer(ElementType type) {
  return row(type).type_class == Class::kUnsigned;
}
bool is_integer(ElementType type) {
  return is_signed_integer(type) || is_unsigned_integer(type);
}
bool is_complex(ElementType type) {
  return row(type).type_class == Class::kComplex;
}
int element_bits(ElementType type) {
  return row(type).bits;
}

size_t element_size(ElementType type) {
  if (type == ElementType::kString) return sizeof(std::string);
  return static_cast<size_t>(row(type).bits + 7) / 8;
}

int64_t integer_min(ElementType type) {
  return is_signed_integer(type) ? std::numeric_limits<int64_t>::min() >> (64 - element_bits(type)) : 0;
}

uint64_t integer_max(ElementType type) {
  const int bits = element_bits(type) - (is_signed_integer(type) ? 1 : 0);
  return std::numeric_limits<uint64_t>::max() >> (64 - bits);
}

}  // namespace vernier
