// Shows the number formats to numeric_test.py: `numeric_tool decode TYPE` writes every code of a type as a
// double; `numeric_tool encode TYPE` reads doubles and writes the code of each, as 16-bit integers. Raw,
// little-endian.
#include <cstdio>
#include <iostream>

#include "vernier/numeric/element_type.h"

using namespace vernier;

namespace {

template <class T>
uint32_t code_of(T value) {
  if constexpr (requires { value.bits; })
    return value.bits;
  else
    return static_cast<uint8_t>(value.value) & ((1u << (T::kMax - T::kMin == 15 ? 4 : 2)) - 1);
}

template <class T>
double decode(uint32_t code) {
  if constexpr (requires { T::from_bits(code); })
    return static_cast<double>(T::from_bits(code));
  else
    return static_cast<double>(static_cast<int64_t>(T(static_cast<int64_t>(code))));
}

template <class T>
T encode(double value) {
  if constexpr (requires { T::from_bits(0u); })
    return T(value);
  else
    return T(static_cast<int64_t>(value));
}

template <class T>
int serve(const std::string& verb, int bits) {
  if (verb == "decode") {
    for (uint32_t code = 0; code < 1u << bits; ++code) {
      const double value = decode<T>(code);
      std::fwrite(&value, sizeof value, 1, stdout);
    }
    return 0;
  }
  for (double value; std::fread(&value, sizeof value, 1, stdin) == 1;) {
    const auto code = static_cast<uint16_t>(code_of(encode<T>(value)));
    std::fwrite(&code, sizeof code, 1, stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto type = argc == 3 ? parse_element_type(argv[2]) : std::nullopt;
  if (!type) {
    std::cerr << "usage: numeric_tool decode|encode TYPE\n";
    return 2;
  }
  return visit_element_type(*type, [&]<class T>(TypeTag<T>) {
    if constexpr (
        requires(T value) { value.bits; } || requires(T value) { value.value; })
      return serve<T>(argv[1], element_bits(*type));
    std::cerr << "numeric_tool: " << argv[2] << " is a native type\n";
    return 2;
  });
}
