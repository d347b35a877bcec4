// Arithmetic for which integers wrap, as in C++ without sign and in numpy; floats as they are.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace vernier::ops {

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class T>
T wrapping_subtract(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

template <class T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else if constexpr (std::is_signed_v<T>)
    return x < 0 ? wrapping_subtract(T{0}, x) : x;
  else
    return x;
}

}  // namespace vernier::ops
