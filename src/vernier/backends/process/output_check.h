// What a foreign runner returned, held against what it was asked for. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Throws bad_input unless `answered` and `stored` name the same values, every output of the model among them
// and nothing that is neither an output nor in `taps`. Without a model only the first is checked.
void check_names(const std::vector<std::string>& answered, const std::vector<std::string>& stored,
                 const Model* model, const std::vector<std::string>& taps);

// Throws bad_input unless `datum` is of the declared kind, element type, rank and constant sizes, as far as
// they are known.
void check_type(const std::string& name, const Datum& datum, const ValueType& declared);

}  // namespace vernier
