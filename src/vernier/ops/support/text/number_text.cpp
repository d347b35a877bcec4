#include "vernier/ops/support/text/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vernier/tensor/tensor.h"

namespace vernier::ops {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // from_chars knows no plus
  return text;
}

// The value, if the text is one as a whole.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string to_text(auto value, std::chars_format format, auto... precision) {
  char buffer[64];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value, format, precision...);
  if (error != std::errc()) throw internal_error("the number {} does not fit its text", value);
  return {buffer, end};
}

// The fewest digits that give back a value of a type for which the library has no shortest form.
std::string shortest_narrow(double value, ElementType type, std::chars_format format) {
  for (int digits = 0; digits < 17; ++digits) {
    std::string text = to_text(value, format, digits);
    if (Tensor::from_doubles(type, {1}, std::vector{parse_real(text)}).to_doubles()[0] == value) return text;
  }
  return to_text(value, format);
}

}  // namespace

double parse_real(std::string_view text) {
  if (const auto value = parse_whole<double>(trimmed(text))) return *value;
  // A number out of the range of double parses in a wider type and then overflows or underflows as a
  // conversion does.
  if (const auto value = parse_whole<long double>(trimmed(text))) return static_cast<double>(*value);
  throw bad_input("'{}' is no number", text);
}

int64_t parse_integer(std::string_view text) {
  if (const auto value = parse_whole<int64_t>(trimmed(text))) return *value;
  if (const auto value = parse_whole<uint64_t>(trimmed(text))) return static_cast<int64_t>(*value);
  return Tensor::from_doubles(ElementType::kInt64, {1}, std::vector{parse_real(text)}).to_ints()[0];
}

std::string format_real(double value, ElementType type) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string text = type == ElementType::kDouble  ? to_text(value, format)
                     : type == ElementType::kFloat ? to_text(static_cast<float>(value), format)
                                                   : shortest_narrow(value, type, format);
  if (plain && std::count(text.begin(), text.end(), '.') == 0) text += ".0";
  return text;
}

}  // namespace vernier::ops
