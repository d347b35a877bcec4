// Samples of a batch as rows: the first axis of every input and output.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Whether the first axis of all inputs is one batch of at least two samples, and that of all outputs, too.
bool has_batch(const Model& model, const NamedData& inputs);
// Every sample like the first one.
NamedData all_as_first_row(const NamedData& data);
NamedData with_rows_reversed(const NamedData& data);
// How far samples that should be equal are apart, relative to the largest element; infinite for a NaN in
// some.
double spread_of_rows(const NamedData& data);
// The same between what should be equal.
double distance_of(const NamedData& expected, const NamedData& actual);

}  // namespace vernier
