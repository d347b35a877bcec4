// B37: integers that do not fit a narrower type, quotients and rounding by another rule, and bools and bytes
// that are read otherwise.
#include <cmath>
#include <limits>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 37;
constexpr int64_t kLowest32 = std::numeric_limits<int32_t>::min(),
                  kHighest32 = std::numeric_limits<int32_t>::max();

int64_t clamped(int64_t value) {
  return std::clamp(value, kLowest32, kHighest32);
}
int64_t low_bits(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

Tensor mapped_integers(const Tensor& tensor, int64_t (*change)(int64_t)) {
  auto values = tensor.to_ints();
  for (int64_t& value : values) value = change(value);
  return Tensor::from_ints(tensor.type(), tensor.dims(), values);
}

bool is_wide(const Tensor& tensor) {
  if (!tensor.is_defined() || tensor.type() != ElementType::kInt64) return false;
  const auto values = tensor.to_ints();
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value != clamped(value); });
}

void propose_narrow(const Variations& variations) {
  const Member& member = variations.member();
  struct Narrowing {
    const char* what;
    int64_t (*change)(int64_t);
  };
  for (const auto& [what, change] : {Narrowing{"held at the ends of int32", clamped},
                                     Narrowing{"cut off to their low 32 bits", low_bits}}) {
    if (is_wide(member.out()))
      variations.add_result(fmt::format("its results are {}", what), [change = change](const Tensor& right) {
        return mapped_integers(right, change);
      });
    for (size_t i = 0; i < member.input_count(); ++i) {
      if (is_wide(member.in(i)))
        variations.add_operand(
            fmt::format("elements of operand {} are {}", i, what), i,
            [change = change](const Tensor& operand) { return mapped_integers(operand, change); });
    }
  }
}

// Element by element, of operands that are broadcast to the result.
Tensors combined(const Member& member, const std::function<int64_t(int64_t, int64_t)>& each) {
  const Dims& dims = member.out().dims();
  const auto spread = [&](const Tensor& operand) {
    Dims padded(dims.size() - operand.dims().size(), 1);
    padded.insert(padded.end(), operand.dims().begin(), operand.dims().end());
    Tensor wide = operand.reshaped(padded);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (padded[axis] != dims[axis])
        wide = taken(wide, axis, std::vector<int64_t>(static_cast<size_t>(dims[axis]), 0));
    }
    return wide.to_ints();
  };
  const auto a = spread(member.in(0)), b = spread(member.in(1));
  std::vector<int64_t> values(a.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = b[i] == 0 ? 0 : each(a[i], b[i]);
  return {Tensor::from_ints(member.out().type(), dims, values)};
}

int64_t floored(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

void propose_quotients(const Variations& variations) {
  const Member& member = variations.member();
  if (!is_integer(member.declared_result())) return;
  const auto add = [&](const char* what, const std::function<int64_t(int64_t, int64_t)>& each) {
    variations.add(what, [&member, each] { return combined(member, each); });
  };
  const auto rounded = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(a) / static_cast<double>(b)));
  };
  if (member.is("Div")) {
    add("quotients are rounded down instead of towards zero", floored);
    add("quotients are rounded to the nearest", rounded);
  } else if (member.is("Mod")) {
    add("remainders have the sign of the dividend", [](int64_t a, int64_t b) { return a % b; });
    add("remainders have the sign of the divisor",
        [](int64_t a, int64_t b) { return a - b * floored(a, b); });
    add("remainders have no sign", [](int64_t a, int64_t b) { return std::abs(a % b); });
    add("remainders are those of the nearest quotient",
        [=](int64_t a, int64_t b) { return a - b * rounded(a, b); });
  }
}

struct Rounding {
  const char* what;
  double (*round)(double);
};
constexpr Rounding kRoundings[] = {
    {"towards zero", [](double value) { return std::trunc(value); }},
    {"to the nearest, ties to even", [](double value) { return std::nearbyint(value); }},
    {"to the nearest, ties away from zero", [](double value) { return std::round(value); }},
    {"to the nearest, ties up", [](double value) { return std::floor(value + 0.5); }},
    {"down", [](double value) { return std::floor(value); }},
    {"up", [](double value) { return std::ceil(value); }}};

void propose_rounding(const Variations& variations) {
  for (const auto& [what, round] : kRoundings)
    variations.add_result(fmt::format("it rounds {}", what),
                          [&member = variations.member(), round = round](const Tensor&) {
                            return mapped(member.in(0), round);
                          });
}

struct Range {
  double lowest, highest;
};

Range range_of(ElementType type) {
  const int bits = static_cast<int>(8 * element_size(type));
  const bool is_signed = type == ElementType::kInt8 || type == ElementType::kInt16 ||
                         type == ElementType::kInt32 || type == ElementType::kInt64;
  return {is_signed ? -std::ldexp(1, bits - 1) : 0, std::ldexp(1, is_signed ? bits - 1 : bits) - 1};
}

double held(double value, const Range& range, double nan) {
  return std::isnan(value) ? nan : std::clamp(value, range.lowest, range.highest);
}

// Modulo the size of the range, as where only the low bits are kept.
double wrapped(double value, const Range& range, double nan) {
  if (!std::isfinite(value)) return nan;
  const double size = range.highest - range.lowest + 1;
  return value - size * std::floor((value - range.lowest) / size);
}

void propose_cast_to_integer(const Variations& variations, ElementType to) {
  const Member& cast = variations.member();
  const Range range = range_of(to), word = range_of(ElementType::kInt32);
  const auto add = [&](std::string what, const std::function<double(double)>& each) {
    variations.add_result(std::move(what), [&cast, to, each](const Tensor&) {
      const Tensor values = mapped(cast.in(0), each);
      std::vector<int64_t> integers;
      constexpr double kEnd = 0x1p63;
      for (const double value : values.to_doubles())
        integers.push_back(value >= kEnd ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value));
      return Tensor::from_ints(to, values.dims(), integers);
    });
  };
  for (const auto& [how, round] : kRoundings) {
    for (const double nan : {0.0, range.lowest, range.highest}) {
      const std::string other = fmt::format("fractions are rounded {}, and NaN becomes {:g}", how, nan);
      add(fmt::format("what is out of range is held at its ends, {}", other),
          [=, round = round](double value) { return held(round(value), range, nan); });
      add(fmt::format("what is out of range keeps its low bits, {}", other),
          [=, round = round](double value) { return wrapped(round(value), range, nan); });
    }
    add(fmt::format("it goes by way of int32, whose low bits are kept, and fractions are rounded {}", how),
        [=, round = round](double value) {
          return wrapped(held(round(value), word, word.lowest), range, 0);
        });
  }
}

void propose_cast_to_bool(const Variations& variations) {
  const Member& cast = variations.member();
  const auto add = [&](const char* what, bool (*is_true)(double)) {
    variations.add_result(what, [&cast, is_true](const Tensor&) {
      std::vector<double> values;
      for (const double value : cast.in(0).to_doubles()) values.push_back(is_true(value) ? 1 : 0);
      return Tensor::from_doubles(ElementType::kBool, cast.in(0).dims(), values);
    });
  };
  add("what is negative becomes false", [](double value) { return value > 0; });
  add("what lies between -1 and 1 becomes false", [](double value) { return std::abs(value) >= 1; });
  add("only 1 becomes true", [](double value) { return value == 1; });
  add("NaN becomes false", [](double value) { return value != 0 && !std::isnan(value); });
}

// Bytes, of which there are two readings.
double as_signed(double value) {
  return value > 127 ? value - 256 : value;
}
double as_unsigned(double value) {
  return value < 0 ? value + 256 : value;
}

// Integers that do not fit a narrower type.
void propose_cast_between_integers(const Variations& variations, ElementType to) {
  const Range range = range_of(to);
  const auto add = [&](const char* what, const std::function<double(double)>& each) {
    variations.add_result(what, [&cast = variations.member(), to, each](const Tensor&) {
      std::vector<double> values = cast.in(0).to_doubles();
      for (double& value : values) value = each(value);
      return Tensor::from_doubles(to, cast.in(0).dims(), values);
    });
  };
  add("what is out of range is held at its ends", [range](double value) { return held(value, range, 0); });
  add("what is out of range becomes 0",
      [range](double value) { return value < range.lowest || value > range.highest ? 0 : value; });
}

// An operand as a float, so that it can be what its type cannot hold.
void add_byte_reading(const Variations& variations, const char* what, double (*read)(double)) {
  variations.add_result(what, [&cast = variations.member(), read](const Tensor& right) {
    auto values = cast.in(0).to_doubles();
    for (double& value : values) value = read(value);
    return Tensor::from_doubles(right.type(), right.dims(), values);
  });
}

void propose_cast(const Variations& variations) {
  const Member& cast = variations.member();
  const ElementType from = cast.declared(0), to = cast.declared_result();
  if (is_float(from) && is_integer(to) && element_size(to) > 0) propose_cast_to_integer(variations, to);
  if (is_integer(from) && is_integer(to) && element_size(to) < element_size(from))
    propose_cast_between_integers(variations, to);
  if (to == ElementType::kBool) propose_cast_to_bool(variations);
  if (from == ElementType::kBool) {
    add_byte_reading(variations, "true is taken for 255", [](double value) { return 255 * value; });
    add_byte_reading(variations, "true is taken for -1", [](double value) { return -value; });
  }
  if (from == ElementType::kUint8)
    add_byte_reading(variations, "its bytes are taken for signed ones", as_signed);
  if (from == ElementType::kInt8)
    add_byte_reading(variations, "its bytes are taken for unsigned ones", as_unsigned);
}

}  // namespace

void propose_integers(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                      std::vector<Proposal>& proposals) {
  if (member.outputs().empty() || !member.out().is_defined()) return;
  const Variations variations(member, flagged, kClass, proposals);
  propose_narrow(variations);
  if (member.is("Div") || member.is("Mod")) propose_quotients(variations);
  if (member.is("Round")) propose_rounding(variations);
  if (member.is("Cast") || member.is("CastLike")) propose_cast(variations);
}

}  // namespace vernier
