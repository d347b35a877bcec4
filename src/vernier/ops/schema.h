#pragma once

#include "vernier/ops/op_def.h"

namespace vernier::ops {

// Throws bad_input, naming the node, when it has too few or too many inputs or outputs, or an attribute that
// the operator has in no version.
void check_schema(const OpDef& def, const Node& node);

}  // namespace vernier::ops
