// What the roundings of all nodes together make of the outputs.
#pragma once

#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

struct PropagatedError {
  double max_abs = 0;        // the largest that an element of the output moved by
  double relative_l2 = 0;    // expected of the output, root mean square over the draws
  double unit_roundoff = 0;  // of the narrowest type that is stored on the way
};

// By output. Runs the reference with a random error in each element of each result, as large as the error
// model expects it from a kernel of its contract; twice, and up to five times where that says too little.
// What roundings of one place do to those of another is in that, and so is what the network makes of them.
// `declared` is the graph of the model, whose weights a plan may have rounded; null: these are not known.
std::map<std::string, PropagatedError> propagated_errors(const Subject& subject, const ShownRun& shown,
                                                         const NamedData& inputs, uint64_t seed,
                                                         const Graph* declared = nullptr);

}  // namespace vernier
