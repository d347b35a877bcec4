#include "vernier/compare/tolerance.h"

#include <charconv>
#include <cmath>

namespace vernier {

namespace {

double parse_number(std::string_view number, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(value) || value < 0) {
    throw usage_error("the tolerance '{}' is no finite number >= 0; write 1e-3 or name:1e-3", text);
  }
  return value;
}

struct Choice {
  double value;
  std::string source;
};

Choice choose(const ToleranceOption& option, std::string_view flag, const std::string& value,
              ElementType type, double fallback) {
  if (const auto named = option.named.find(value); named != option.named.end()) {
    return {named->second, fmt::format("{} {}:{}", flag, value, named->second)};
  }
  const bool general = option.general && !is_integer(type);
  if (general) return {*option.general, fmt::format("{} {}", flag, *option.general)};
  return {fallback, fmt::format("default for {}", element_type_short_name(type))};
}

}  // namespace

double Tolerance::allowed(double reference) const {
  return atol + rtol * std::abs(reference);
}

bool Tolerance::accepts(double error, double reference) const {
  return std::isfinite(error) && error <= allowed(reference);
}

Tolerance default_tolerance(ElementType type) {
  const auto make = [&](double atol, double rtol) {
    return Tolerance{atol, rtol, fmt::format("default for {}", element_type_short_name(type))};
  };
  switch (type) {
    case ElementType::kDouble:
    case ElementType::kComplex128: return make(1e-10, 1e-8);
    case ElementType::kFloat:
    case ElementType::kComplex64: return make(1e-4, 1e-3);
    case ElementType::kFloat16: return make(2e-3, 1e-2);
    case ElementType::kBFloat16: return make(1e-2, 4e-2);
    // One step of the format: relative for normal numbers, and about one step of the subnormals' scale below.
    case ElementType::kFloat8E4M3FN: return make(0x1p-6, 0x1p-3);
    case ElementType::kFloat8E4M3FNUZ: return make(0x1p-7, 0x1p-3);
    case ElementType::kFloat8E5M2: return make(0x1p-14, 0x1p-2);
    case ElementType::kFloat8E5M2FNUZ: return make(0x1p-15, 0x1p-2);
    case ElementType::kFloat4E2M1: return make(0.25, 0.5);
    default: return make(0, 0);
  }
}

void ToleranceOption::parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  const bool is_named = colon != std::string_view::npos;
  const double number = parse_number(is_named ? text.substr(colon + 1) : text, text);
  if (is_named && colon == 0) throw usage_error("the tolerance '{}' lacks a name before the colon", text);
  const bool fresh = is_named ? named.emplace(text.substr(0, colon), number).second : !general.has_value();
  if (!fresh) throw usage_error("the tolerance '{}' is given twice for the same values", text);
  if (!is_named) general = number;
}

Tolerance Tolerances::of(const std::string& value, ElementType type) const {
  const Tolerance fallback = default_tolerance(type);
  if (type == ElementType::kBool || type == ElementType::kString) return fallback;
  const Choice a = choose(atol, "--atol", value, type, fallback.atol);
  const Choice r = choose(rtol, "--rtol", value, type, fallback.rtol);
  if (a.source == r.source) return fallback;
  return {a.value, r.value, fmt::format("atol: {}, rtol: {}", a.source, r.source)};
}

}  // namespace vernier
