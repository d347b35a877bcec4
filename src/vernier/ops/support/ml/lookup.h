// Finding the values of a tensor in a list of keys.
#pragma once

#include <functional>
#include <unordered_map>

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Real keys by value: both zeros are one key, and so are all NaNs.
struct RealHash {
  size_t operator()(double key) const { return std::isnan(key) ? 0 : std::hash<double>()(key); }
};
struct RealEqual {
  bool operator()(double a, double b) const { return a == b || (std::isnan(a) && std::isnan(b)); }
};

inline constexpr int64_t kNotFound = -1;

// Which of equal keys counts.
enum class Repeated : uint8_t { kFirst, kLast };

// The place of each value in `keys`.
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
std::vector<int64_t> find_in(const std::vector<Key>& keys, std::span<const Key> values,
                             Repeated counts = Repeated::kLast) {
  std::unordered_map<Key, int64_t, Hash, Equal> places;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [place, added] = places.try_emplace(keys[i], static_cast<int64_t>(i));
    if (!added && counts == Repeated::kLast) place->second = static_cast<int64_t>(i);
  }
  std::vector<int64_t> found;
  for (const Key& value : values) {
    const auto place = places.find(value);
    found.push_back(place == places.end() ? kNotFound : place->second);
  }
  return found;
}

// The same for input 0 and keys of its own kind: strings, reals or integers.
inline std::vector<int64_t> find_in_keys(const ReferenceContext& context, const Tensor& keys,
                                         Repeated counts = Repeated::kLast) {
  const Tensor& input = context.in(0);
  if ((input.type() == ElementType::kString) != (keys.type() == ElementType::kString)) {
    throw bad_input("{} cannot be found among keys of {}", element_type_name(input.type()),
                    element_type_name(keys.type()));
  }
  if (keys.type() == ElementType::kString) {
    const auto texts = keys.values<std::string>();
    return find_in<std::string>({texts.begin(), texts.end()}, input.values<std::string>(), counts);
  }
  if (is_float(keys.type()) || is_float(input.type())) {
    return find_in<double, RealHash, RealEqual>(keys.to_doubles(), context.reals(0).span(), counts);
  }
  return find_in<int64_t>(keys.to_ints(), context.ints(0).span(), counts);
}

}  // namespace vernier::ops
