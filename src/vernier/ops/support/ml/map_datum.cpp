#include "vernier/ops/support/ml/map_datum.h"

#include <map>

#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier::ops {

namespace {

template <class Key>
std::vector<int64_t> ascending(std::span<const Key> keys) {
  std::map<Key, int64_t> places;
  for (size_t i = 0; i < keys.size(); ++i) places[keys[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> result;
  for (const auto& [key, place] : places) result.push_back(place);
  return result;
}

}  // namespace

std::vector<int64_t> places_by_key(const Tensor& keys) {
  if (keys.type() == ElementType::kString) return ascending(keys.values<std::string>());
  return ascending<int64_t>(keys.to_ints());
}

Tensor take(const Tensor& from, const std::vector<int64_t>& places) {
  Tensor result(from.type(), {std::ssize(places)});
  if (from.type() == ElementType::kString) {
    const auto texts = from.values<std::string>();
    auto to = result.mutable_values<std::string>();
    for (size_t i = 0; i < places.size(); ++i) to[i] = texts[static_cast<size_t>(places[i])];
    return result;
  }
  const size_t size = element_size(from.type());
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(to + i * size, from.bytes().data() + static_cast<size_t>(places[i]) * size, size);
  return result;
}

Datum make_map(const Tensor& keys, const std::vector<Datum>& values) {
  if (keys.rank() != 1 || keys.size() != std::ssize(values))
    throw bad_input("{} keys and {} values are no map", keys.size(), values.size());
  std::vector<Tensor> ones;
  for (const Datum& value : values) ones.push_back(value.as_tensor().reshaped({1}));
  const Tensor all = ones.empty() ? Tensor(ElementType::kFloat, {0}) : concat_axis(ones, 0);
  const auto places = places_by_key(keys);
  return Datum::of_sequence({take(keys, places), take(all, places)});
}

}  // namespace vernier::ops
