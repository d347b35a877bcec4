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
  bool by_user;
};

Choice choose(const ToleranceOption& option, std::string_view flag, const std::string& value,
              ElementType type, double fallback) {
  if (const auto named = option.named.find(value); named != option.named.end()) {
    return {named->second, fmt::format("{} {}:{}", flag, value, named->second), true};
  }
  const bool general = option.general && obeys_general_tolerance(type);
  if (general) return {*option.general, fmt::format("{} {}", flag, *option.general), true};
  return {fallback, fmt::format("default for {}", element_type_short_name(type)), false};
}

}  // namespace

bool obeys_general_tolerance(ElementType type) {
  return !is_integer(type) && type != ElementType::kBool && type != ElementType::kString;
}

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
  return {a.value, r.value, fmt::format("atol: {}, rtol: {}", a.source, r.source), a.by_user || r.by_user};
}

std::string Tolerances::not_applied(const std::string& value, ElementType type) const {
  const bool exact = type == ElementType::kBool || type == ElementType::kString;
  std::vector<std::string> unused;
  for (const auto& [flag, option] : {std::pair("--atol", &atol), std::pair("--rtol", &rtol)}) {
    const auto named = option->named.find(value);
    if (named != option->named.end()) {
      if (exact) unused.push_back(fmt::format("{} {}:{}", flag, value, named->second));
    } else if (option->general && !obeys_general_tolerance(type)) {
      unused.push_back(fmt::format("{} {}", flag, *option->general));
    }
  }
  if (unused.empty()) return "";
  return fmt::format(
      "{} is not applied to '{}' ({}): {}", fmt::join(unused, " "), value, element_type_short_name(type),
      exact ? "such values are always compared exactly" : fmt::format("write {}:NUMBER for that", value));
}

void Tolerances::require_use(const std::map<std::string, ElementType>& outputs) const {
  if (outputs.empty() || (!atol.general && !rtol.general)) return;
  std::vector<std::string> reasons;
  for (const auto& [name, type] : outputs) {
    if (type == ElementType::kUndefined || obeys_general_tolerance(type)) return;
    reasons.push_back(not_applied(name, type));
  }
  std::erase(reasons, "");  // all that obey a tolerance of their own
  throw usage_error(
      "a tolerance without a name applies to no output: {}",
      reasons.empty() ? "each has one of its own" : fmt::format("{}", fmt::join(reasons, "; ")));
}

}  // namespace vernier
