// Case of UTF-8 text, by Unicode's simple mappings, whatever the language.
#pragma once

#include <string>

namespace vernier::ops {

// Bytes that are not UTF-8 stay as they are.
std::string to_lower(const std::string& text);
std::string to_upper(const std::string& text);

}  // namespace vernier::ops
