// Drawing the elements of one random tensor. Internal to the room.
#pragma once

#include <optional>
#include <string>

#include "vernier/data/random/random_inputs.h"
#include "vernier/data/random/random_stream.h"
#include "vernier/data/random/value_rule.h"

namespace vernier {

struct DrawnTensor {
  Tensor tensor;
  std::string text;  // "i64 in [0, 30521]: indices of Gather 'embed'"
};

// `range`, where given, overrules what the graph suggests. Throws usage_error for a range that the type does
// not have.
DrawnTensor draw_tensor(const ValueRule& rule, ElementType type, const Dims& dims,
                        const SymbolValues& symbols, const std::optional<ValueRange>& range,
                        RandomStream& stream);

}  // namespace vernier
