// Base64 (RFC 4648, with padding). Internal to the room.
#pragma once

#include <string>
#include <string_view>

namespace vernier {

std::string encode_base64(std::string_view bytes);
// Throws bad_input for anything that encode_base64 would not have written.
std::string decode_base64(std::string_view text);

}  // namespace vernier
