// The larger and the smaller of two numbers, where a NaN wins over every number.
#pragma once

#include <cmath>
#include <type_traits>

namespace vernier::ops {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

template <class T>
T maximum(T a, T b) {
  return a >= b || is_nan(a) ? a : b;
}

template <class T>
T minimum(T a, T b) {
  return a <= b || is_nan(a) ? a : b;
}

}  // namespace vernier::ops
