// Measures what the roundings of all nodes together make of the outputs.
#pragma once

#include <set>

#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

struct PropagatedError {
  double max_abs = 0;        // the largest that an element of the output moved by
  double relative_l2 = 0;    // expected of the output, root mean square over the draws
  double unit_roundoff = 0;  // of the narrowest type that is stored on the way
};

// Says what the draws of errors start from, and how long they go on.
struct PropagationOptions {
  const Graph* declared = nullptr;  // of the model, whose weights a plan may have rounded; null: not known
  // By output, relative L2: what an engine was found to err that may be without a fault, over kBoundFactor. A
  // decision (a comparison, the best of many) that lies on the edge is turned over in few draws, and then by
  // much: where less is explained, and the graph decides anything, there are more draws, up to 24; fewer, but
  // five at least, where many elements are moved in each.
  std::map<std::string, double> met;
  // Whether it ends as soon as these are explained.
  bool explains_only = false;
  // Bytes that errors of elements may take which are the same in every draw.
  size_t most_bytes = size_t{256} << 20;
  // Inner values, by name, that are followed beside the outputs. They are held for as long as it takes, up to
  // three times each, as double.
  std::set<std::string> inner_values = {};
  // Asked before every draw but the first: whether those before are to do.
  std::function<bool()> is_over = nullptr;
};

// By output, and by inner value that is asked for. Runs the reference with a random error in each element of
// each result, as large as the error model expects it from a kernel of its contract; twice, and up to five
// times where that says too little. That includes the effect of roundings of one place on those of another,
// and what the network makes of them.
std::map<std::string, PropagatedError> propagated_errors(const EngineUnderTest& tested, const ShownRun& shown,
                                                         const NamedData& inputs, uint64_t seed,
                                                         const PropagationOptions& options = {});

}  // namespace vernier
