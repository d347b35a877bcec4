#include "vernier/data/formats/base64.h"

#include <array>
#include <cstdint>

#include "vernier/base/error.h"

namespace vernier {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += at + i > bytes.size() ? '=' : kDigits[group >> (18 - 6 * i) & 63];
  }
  return text;
}

std::string decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw bad_input("a base64 text of {} characters is incomplete", text.size());
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const int8_t value = i >= text.size() - padding ? 0 : kValues[static_cast<uint8_t>(text[i])];
      if (value < 0) throw bad_input("a base64 text has a wrong character at {}", i);
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 0xff);
  }
  const size_t size = bytes.size() - padding;
  if (bytes.find_first_not_of('\0', size) != std::string::npos)
    throw bad_input("a base64 text has bits behind its end");
  bytes.erase(size);
  return bytes;
}

}  // namespace vernier
