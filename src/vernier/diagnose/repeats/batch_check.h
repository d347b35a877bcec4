#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

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
std::optional<UnequalRows> rows_that_differ(const Model& model, Subject& subject, const NamedData& inputs,
                                            Stopwatch& watch);

}  // namespace vernier
