#pragma once

#include <string_view>

namespace vernier {

// The page without what it shows, as web/build.mjs made it; "" in a build without.
std::string_view page_template();

}  // namespace vernier
