// The name of a request in a timing cache.
#pragma once

#include <string>

#include "vernier/exec/kernel_source.h"

namespace vernier {

// Operators, attributes, connections, types, sizes and layouts; of constants only that they are some. Equal
// requests of different models have the same name.
std::string request_key(const KernelRequest& request);

}  // namespace vernier
