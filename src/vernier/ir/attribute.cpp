#include "vernier/ir/attribute.h"

#include <cstring>

namespace vernier {

Attribute::Attribute() = default;
Attribute::~Attribute() = default;
Attribute::Attribute(const Attribute& other) = default;
Attribute::Attribute(Attribute&& other) noexcept = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute& Attribute::operator=(Attribute&& other) noexcept = default;

std::string_view Attribute::type_name() const {
  static constexpr std::string_view kNames[] = {"INT",  "FLOAT",  "STRING",  "TENSOR",  "TYPE_PROTO",
                                                "INTS", "FLOATS", "STRINGS", "TENSORS", "TYPE_PROTOS"};
  return kNames[value_.index()];
}

namespace {

// Attributes are equal when they would be written as the same bytes: a NaN equals itself, 0.0 differs from
// -0.0.
bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}
bool same(const Tensor& a, const Tensor& b) {
  return a.identical(b);
}
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

bool Attribute::operator==(const Attribute& other) const {
  if (value_.index() != other.value_.index()) return false;
  return std::visit([&]<class T>(const T& mine) { return same(mine, std::get<T>(other.value_)); }, value_);
}

}  // namespace vernier
