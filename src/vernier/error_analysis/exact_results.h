#pragma once

#include "vernier/error_analysis/expected_error.h"

namespace vernier {

// Takes out of `errors`, those of the only output of a node that is no group, what arithmetic on exact
// operands cannot err: a result that its type holds, of one operation or of a sum of whole numbers. Counts,
// ids and masks kept in floats stay what they are, and what compares them decides as the model does. Of a
// kernel that reads what another has not rounded yet this is not so: it is no bound for what one node makes
// of the operands that are shown.
void keep_exact_results(const Node& node, const std::vector<Tensor>& inputs, const NumericsContract& contract,
                        ElementErrors& errors);

}  // namespace vernier
