// The larger and the smaller of two numbers, where a NaN wins over every number, and what both start from.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "vernier/numeric/element_type.h"

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

// The lowest and the highest number of a type, whose elements are held as T: the maximum and the minimum of
// none.
template <class T>
std::pair<T, T> ends_of(ElementType type) {
  if (type == ElementType::kBool) return {T{0}, T{1}};
  if constexpr (std::is_floating_point_v<T>) {
    if (!is_integer(type)) return {-std::numeric_limits<T>::infinity(), std::numeric_limits<T>::infinity()};
  }
  return {static_cast<T>(integer_min(type)), static_cast<T>(integer_max(type))};
}

}  // namespace vernier::ops
