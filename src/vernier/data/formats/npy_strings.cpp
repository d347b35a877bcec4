#include "vernier/data/formats/npy_strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "vernier/base/error.h"

namespace vernier {

namespace {

bool is_code_point(char32_t code) {
  return code < 0xD800 || (code > 0xDFFF && code <= 0x10FFFF);
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

// Nothing if the text is no valid UTF-8.
std::optional<std::u32string> utf8_code_points(const std::string& text) {
  std::u32string codes;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at]);
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return std::nullopt;
    char32_t code = length == 1 ? first : first & (0x7F >> length);
    for (size_t i = 1; i < length; ++i) {
      const auto next = static_cast<uint8_t>(text[at + i]);
      if (next >> 6 != 2) return std::nullopt;
      code = code << 6 | (next & 0x3F);
    }
    constexpr char32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kShortest[length] || !is_code_point(code)) return std::nullopt;
    codes += code;
    at += length;
  }
  return codes;
}

}  // namespace

std::string decode_utf32(std::span<const std::byte> bytes) {
  std::u32string codes(bytes.size() / sizeof(char32_t), U'\0');
  std::memcpy(codes.data(), bytes.data(), codes.size() * sizeof(char32_t));
  codes.resize(codes.find_last_not_of(U'\0') + 1);
  std::string text;
  for (const char32_t code : codes) {
    if (!is_code_point(code))
      throw bad_input("a text holds {:#x}, which is no unicode code point", static_cast<uint32_t>(code));
    append_utf8(text, code);
  }
  return text;
}

std::string decode_bytes(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

FixedWidthStrings encode_strings(std::span<const std::string> strings) {
  std::vector<std::u32string> codes;
  size_t longest_bytes = 1, longest_codes = 1;
  for (const std::string& text : strings) {
    longest_bytes = std::max(longest_bytes, text.size());
    if (auto decoded = utf8_code_points(text)) codes.push_back(std::move(*decoded));
    if (!codes.empty()) longest_codes = std::max(longest_codes, codes.back().size());
  }
  const bool unicode = codes.size() == strings.size();
  const size_t width = unicode ? longest_codes * sizeof(char32_t) : longest_bytes;
  FixedWidthStrings result;
  result.descr = unicode ? fmt::format("<U{}", longest_codes) : fmt::format("|S{}", longest_bytes);
  result.bytes.assign(width * strings.size(), '\0');
  for (size_t i = 0; i < strings.size(); ++i) {
    char* to = result.bytes.data() + i * width;
    if (unicode)
      std::memcpy(to, codes[i].data(), codes[i].size() * sizeof(char32_t));
    else
      std::memcpy(to, strings[i].data(), strings[i].size());
  }
  return result;
}

}  // namespace vernier
