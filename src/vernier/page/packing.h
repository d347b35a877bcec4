#pragma once

#include <string>
#include <string_view>

namespace vernier {

// A gzip file that holds `text`; the same bytes for the same text. Throws internal_error where zlib fails.
std::string gzip(std::string_view text);
// As RFC 4648 has it, with padding and without line breaks.
std::string base64(std::string_view bytes);

}  // namespace vernier
