#pragma once

#include "vernier/error_analysis/expected_error.h"

namespace vernier {

// Arithmetic that IEEE 754 rounds correctly yields a result exactly where its type holds it: counts, ids and
// masks kept in floats stay what they are, and what compares them decides as the model does. Takes their
// roundings out of `errors`, those of the output of `node` in exact operands. Of a kernel that adds into what
// another has not rounded yet this is not so: it is no bound for what one node makes of what it reads.
void keep_exact_results(const Node& node, ElementErrors& errors);

}  // namespace vernier
