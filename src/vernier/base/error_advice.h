// The advice of an error alone, for programs that show it apart from the message.
#pragma once

#include <string>

#include "vernier/base/error.h"

namespace vernier {

// "" where there is none.
std::string advice_of(const Error& error);

}  // namespace vernier
