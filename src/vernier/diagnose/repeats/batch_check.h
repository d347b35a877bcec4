// Samples of a batch as rows: the first axis of every input and output.
#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/under_test/engine_under_test.h"
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

// Where equal rows of a batch begin to get different answers.
struct UnequalRows {
  std::shared_ptr<const Graph> graph;
  const Node* node = nullptr;
  std::string value;
  int64_t rows = 0, row = 0;
  double largest = 0;  // difference, relative to the root mean square of the row
};

// Runs the engine on a batch of copies of the first row. Nothing where all rows are alike but for roundings,
// or where it is not known that the first axis of all inputs is the batch: the reference, which treats rows
// alike, says so.
std::optional<UnequalRows> rows_that_differ(const Model& model, EngineUnderTest& tested,
                                            const NamedData& inputs, Stopwatch& watch);

}  // namespace vernier
