// Tests of operators on images share this.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {

using Ints = std::vector<int64_t>;

MATCHER(Near, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-12;
}

inline std::vector<double> ramp(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

inline AttributeMap with(AttributeMap base, const AttributeMap& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}

}  // namespace vernier::ops
