// Checks option values for CLI11's check(): "" if they are right, else what is wrong.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace vernier {

// The name of a file, say.
inline std::string must_not_be_empty(const std::string& text) {
  return text.empty() ? "an empty text names nothing" : "";
}

inline std::string must_be_seed(const std::string& text) {
  uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const bool is_number = error == std::errc() && end == last;
  return is_number ? "" : fmt::format("'{}' is no integer from 0 to {}", text, UINT64_MAX);
}

}  // namespace vernier
