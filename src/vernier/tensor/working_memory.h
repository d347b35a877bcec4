// Memory that is refused before any work is done for it.
#pragma once

#include <string_view>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

// Throws bad_input where a tensor of these sizes takes more than allocation_limit() while it is made: whoever
// computes in double or int64 needs eight bytes for an element, whatever type holds it in the end. `what`
// names it in the message.
void require_workable(std::string_view what, const Dims& dims);

}  // namespace vernier
