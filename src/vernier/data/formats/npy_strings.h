// Strings in NumPy arrays: fixed width, padded with zeros; UTF-32 (U) or bytes (S). Internal to the room.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// `bytes` holds native UTF-32 code points. Throws bad_input for code points that do not exist.
std::string decode_utf32(std::span<const std::byte> bytes);
std::string decode_bytes(std::span<const std::byte> bytes);

struct FixedWidthStrings {
  std::string descr;  // "<U5" or "|S5"
  std::string bytes;
};
FixedWidthStrings encode_strings(std::span<const std::string> strings);

}  // namespace vernier
