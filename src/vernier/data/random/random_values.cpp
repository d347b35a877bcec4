#include "vernier/data/random/random_values.h"

#include <cmath>

namespace vernier {

namespace {

struct Limits {
  double low, high;
};

// Limits [low, high] to what a type can hold; the ends become integers for types that hold only those.
Limits limit_to(ElementType type, double low, double high) {
  if (type == ElementType::kBool)
    return {std::clamp(std::ceil(low), 0.0, 1.0), std::clamp(std::floor(high), 0.0, 1.0)};
  if (is_integer(type)) {
    const auto smallest = static_cast<double>(integer_min(type)),
               largest = static_cast<double>(integer_max(type));
    const double first = std::clamp(std::ceil(low), smallest, largest);
    return {first, std::clamp(std::floor(high), first, largest)};
  }
  // This type of powers of two has neither sign nor zero.
  if (type == ElementType::kFloat8E8M0) return {std::max(low, 0.125), std::max(high, 1.0)};
  return {low, high};
}

bool holds_integers(ElementType type) {
  return is_integer(type) || type == ElementType::kBool;
}

class Drawing {
 public:
  Drawing(ElementType type, const Dims& dims, RandomStream& stream)
      : type_(type), dims_(dims), stream_(stream), values_(static_cast<size_t>(element_count(dims))) {}

  DrawnTensor uniform(double low, double high) {
    const Limits limits = limit_to(type_, low, high);
    if (holds_integers(type_))
      return integers(static_cast<int64_t>(limits.low), static_cast<int64_t>(limits.high));
    if (is_complex(type_)) return complex(limits);
    for (double& value : values_) value = stream_.real(limits.low, limits.high);
    return finish(fmt::format("in [{}, {}]", limits.low, limits.high));
  }

  // Integers, whatever type holds them.
  DrawnTensor integers(int64_t low, int64_t high) {
    for (double& value : values_) value = static_cast<double>(stream_.integer(low, high));
    return finish(fmt::format("{}in [{}, {}]", holds_integers(type_) ? "" : "integers ", low, high));
  }

  // As `integers`, but the first one is the longest: a mask made from lengths is as wide as the longest of
  // them.
  DrawnTensor lengths(int64_t low, int64_t high) {
    DrawnTensor drawn = integers(low, high);
    if (values_.empty()) return drawn;
    values_[0] = static_cast<double>(high);
    return finish(fmt::format("lengths in [{}, {}], the first is {}", low, high, high));
  }

  DrawnTensor mask(bool one_hides) {
    const int64_t width = dims_.empty() ? 1 : dims_.back();
    const int64_t most = one_hides ? std::max<int64_t>(width - 1, 1) : width;
    for (size_t row = 0; width > 0 && row < values_.size(); row += static_cast<size_t>(width)) {
      const int64_t ones = stream_.integer(1, most);
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(row), ones, 1.0);
    }
    return finish("0 or 1, ones first");
  }

  DrawnTensor choices(const std::vector<double>& choices) {
    for (double& value : values_)
      value = choices[static_cast<size_t>(stream_.integer(0, static_cast<int64_t>(choices.size()) - 1))];
    const auto [low, high] = std::minmax_element(choices.begin(), choices.end());
    constexpr size_t kListed = 8;
    if (choices.size() > kListed)
      return finish(fmt::format("one of {} numbers in [{}, {}]", choices.size(), *low, *high));
    return finish(fmt::format("one of {}", fmt::join(choices, ", ")));
  }

  // The shape that every tensor can take.
  DrawnTensor new_shape() {
    std::fill(values_.begin(), values_.end(), 1.0);
    if (!values_.empty()) values_[0] = -1;
    return finish("-1, then ones");
  }

  DrawnTensor words() {
    Tensor tensor(type_, dims_);
    for (std::string& word : tensor.mutable_values<std::string>()) {
      word.resize(static_cast<size_t>(stream_.integer(1, 8)));
      for (char& letter : word) letter = static_cast<char>('a' + stream_.integer(0, 25));
    }
    return {std::move(tensor), "words"};
  }

 private:
  DrawnTensor finish(const std::string& text) const {
    return {Tensor::from_doubles(type_, dims_, values_),
            fmt::format("{} {}", element_type_short_name(type_), text)};
  }

  DrawnTensor complex(const Limits& limits) {
    Tensor tensor(type_, dims_);
    const auto fill = [&](auto values) {
      for (auto& value : values) {
        const double real = stream_.real(limits.low, limits.high),
                     imaginary = stream_.real(limits.low, limits.high);
        value = std::complex<double>(real, imaginary);
      }
    };
    if (type_ == ElementType::kComplex64)
      fill(tensor.mutable_values<std::complex<float>>());
    else
      fill(tensor.mutable_values<std::complex<double>>());
    return {std::move(tensor),
            fmt::format("{} in [{}, {}]", element_type_short_name(type_), limits.low, limits.high)};
  }

  ElementType type_;
  const Dims& dims_;
  RandomStream& stream_;
  std::vector<double> values_;
};

DrawnTensor draw_free(Drawing drawing, ElementType type) {
  if (type == ElementType::kString) return drawing.words();
  if (type == ElementType::kBool) return drawing.uniform(0, 1);
  // Narrow integers are quantized numbers or pixels; wide ones are counts or codes.
  if (is_integer(type) && element_bits(type) <= 8) return drawing.uniform(-128, 255);
  if (is_integer(type)) return drawing.uniform(0, 7);
  return drawing.uniform(-1, 1);
}

std::pair<int64_t, int64_t> evaluate(const std::vector<IntegerBounds>& bounds, const SymbolValues& symbols) {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  for (const IntegerBounds& bound : bounds) {
    if (const auto value = bound.low.evaluate(symbols)) low = std::max(low, *value);
    if (const auto value = bound.high ? bound.high->evaluate(symbols) : std::nullopt)
      high = std::min(high, *value);
  }
  // Where the size is not known before running, only the lowest is safe.
  if (high == std::numeric_limits<int64_t>::max() || high < low) high = low;
  return {low, high};
}

DrawnTensor draw_range(Drawing drawing, ElementType type, const ValueRange& range) {
  const Limits limits = limit_to(type, range.low, range.high);
  const bool fits = type != ElementType::kString && limits.low >= range.low && limits.high <= range.high;
  if (!fits) throw usage_error("no {} lies in [{}, {}]", element_type_name(type), range.low, range.high);
  DrawnTensor drawn = drawing.uniform(range.low, range.high);
  drawn.text += ": as --val-range says";
  return drawn;
}

DrawnTensor draw_elements(const ValueRule& rule, ElementType type, const SymbolValues& symbols,
                          RandomStream& stream) {
  std::vector<double> values;
  std::string text;
  for (const ValueRule& each : rule.elements) {
    const DrawnTensor drawn = draw_tensor(each, type, {}, symbols, std::nullopt, stream);
    text += fmt::format("{}[{}] {}", values.empty() ? "" : "; ", values.size(), drawn.text);
    values.push_back(drawn.tensor.to_doubles()[0]);
  }
  return {Tensor::from_doubles(type, {static_cast<int64_t>(values.size())}, values), std::move(text)};
}

}  // namespace

DrawnTensor draw_tensor(const ValueRule& rule, ElementType type, const Dims& dims,
                        const SymbolValues& symbols, const std::optional<ValueRange>& range,
                        RandomStream& stream) {
  Drawing drawing(type, dims, stream);
  if (range) return draw_range(drawing, type, *range);
  if (type == ElementType::kString || is_complex(type)) return draw_free(drawing, type);
  const bool taken_apart = !rule.elements.empty() && dims == Dims{static_cast<int64_t>(rule.elements.size())};
  if (taken_apart) return draw_elements(rule, type, symbols, stream);
  const auto [low, high] = evaluate(rule.bounds, symbols);
  DrawnTensor drawn;
  switch (rule.kind) {
    case RuleKind::kFree: drawn = draw_free(drawing, type); break;
    case RuleKind::kInterval: drawn = drawing.uniform(rule.low, rule.high); break;
    case RuleKind::kChoices: drawn = drawing.choices(rule.choices); break;
    case RuleKind::kMask: drawn = drawing.mask(rule.one_hides); break;
    case RuleKind::kNewShape: drawn = drawing.new_shape(); break;
    case RuleKind::kSizes:
    case RuleKind::kIndices: drawn = drawing.integers(low, high); break;
    case RuleKind::kLengths: drawn = drawing.lengths(low, high); break;
  }
  constexpr size_t kReasons = 3;
  for (size_t i = 0; i < std::min(rule.why.size(), kReasons); ++i)
    drawn.text += (i == 0 ? ": " : ", ") + rule.why[i];
  if (rule.why.size() > kReasons) drawn.text += fmt::format(" and {} more", rule.why.size() - kReasons);
  return drawn;
}

}  // namespace vernier
