#include "vernier/diagnose/hazards/hazard_signs.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/group.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

// A value as it is and as it is meant.
struct Pair {
  std::vector<double> made, meant;
};

std::optional<Pair> pair_of(const Value* value, const RunPair& runs) {
  if (value == nullptr) return std::nullopt;
  const Tensor *made = runs.made(*value), *meant = runs.meant(*value);
  if (made == nullptr || meant == nullptr || made->dims() != meant->dims()) return std::nullopt;
  if (made->type() == ElementType::kString || is_complex(made->type())) return std::nullopt;
  return Pair{made->to_doubles(), meant->to_doubles()};
}

// The first element that is no number, and should be one.
std::optional<size_t> lost_number(const Pair& pair) {
  for (size_t i = 0; i < pair.made.size(); ++i) {
    if (std::isfinite(pair.meant[i]) && !std::isfinite(pair.made[i])) return i;
  }
  return std::nullopt;
}

// Finds the lost element that is meant to be the largest.
double largest_lost(const Pair& pair) {
  double largest = 0;
  for (size_t i = 0; i < pair.made.size(); ++i) {
    const bool lost = std::isfinite(pair.meant[i]) && !std::isfinite(pair.made[i]);
    if (lost && std::abs(pair.meant[i]) > std::abs(largest)) largest = pair.meant[i];
  }
  return largest;
}

// The first element that is zero, and should not be.
std::optional<size_t> new_zero(const Pair& pair) {
  for (size_t i = 0; i < pair.made.size(); ++i) {
    if (pair.made[i] == 0 && pair.meant[i] != 0) return i;
  }
  return std::nullopt;
}

double flushed_energy(const Pair& pair) {
  double all = 0, flushed = 0;
  for (size_t i = 0; i < pair.made.size(); ++i) {
    if (!std::isfinite(pair.meant[i])) continue;
    all += pair.meant[i] * pair.meant[i];
    if (pair.made[i] == 0) flushed += pair.meant[i] * pair.meant[i];
  }
  return all > 0 ? flushed / all : 0;
}

double relative_error(const Pair& pair) {
  double energy = 0, error = 0;
  for (size_t i = 0; i < pair.made.size(); ++i) {
    if (!std::isfinite(pair.meant[i]) || !std::isfinite(pair.made[i])) continue;
    energy += pair.meant[i] * pair.meant[i];
    error += (pair.made[i] - pair.meant[i]) * (pair.made[i] - pair.meant[i]);
  }
  return energy > 0 ? std::sqrt(error / energy) : 0;
}

std::optional<NarrowFormat> format_of(ElementType type) {
  switch (type) {
    case ElementType::kFloat16: return NarrowFormat::float16();
    case ElementType::kBFloat16: return NarrowFormat::bfloat16();
    case ElementType::kFloat: return NarrowFormat::float32();
    default: return std::nullopt;
  }
}

bool divides(const Node& node) {
  return has_op(node, {"Div", "Reciprocal", "Log", "Sqrt", "Pow"});
}

// Whether something divides by the value, or takes its root or logarithm.
bool is_divisor(const Value* value, const Surroundings& around) {
  const auto on_the_way = [](const Node& node) {
    return has_op(node, {"Add", "Max", "Clip", "Sqrt", "Cast", "Expand", "Unsqueeze", "Reshape", "Identity"});
  };
  return around.leads_to(value, divides, on_the_way, 4);
}

constexpr double kVisiblePhase = 1.0 / 64;

// Whether a sine or cosine is taken of the value.
bool is_angle(const Value* value, const Surroundings& around) {
  const auto is_periodic = [](const Node& node) { return has_op(node, {"Sin", "Cos", "Tan"}); };
  const auto moves = [](const Node& node) {
    return has_op(node, {"Cast", "Reshape", "Unsqueeze", "Squeeze", "Concat", "Transpose", "Identity"});
  };
  return around.leads_to(value, is_periodic, moves, 4);
}

bool holds_integers(const Node& maker, const Surroundings& around) {
  const bool begins = has_op(maker, {"Cast"}) && is_integer(element_type_of(maker.input(0)));
  return begins || carries_integers(maker, around);
}

class Signs {
 public:
  Signs(const Node& node, const Value& output, const RunPair& runs, const Surroundings& around,
        const NarrowFormat& format, const Pair& pair)
      : node_(node), output_(output), runs_(runs), around_(around), format_(format), pair_(pair) {
    const Node* maker = around.producer(&output);
    member_ = maker == nullptr ? &node : maker;
  }

  std::optional<HazardSign> first() const {
    for (const auto sign :
         {&Signs::overflow, &Signs::zero, &Signs::integers, &Signs::argument, &Signs::amplification}) {
      if (auto found = (this->*sign)()) return found;
    }
    return std::nullopt;
  }

 private:
  template <class Test>
  bool any_operand(const Test& test) const {
    return std::any_of(node_.inputs.begin(), node_.inputs.end(), [&](const Value* input) {
      const auto pair = pair_of(input, runs_);
      return pair && test(*pair);
    });
  }

  HazardSign event(int failure, std::string sentence) const {
    return {FailureClass(failure), &node_, member_, std::move(sentence), true};
  }

  std::optional<HazardSign> overflow() const {
    const auto at = lost_number(pair_);
    if (!at || any_operand([](const Pair& operand) { return lost_number(operand).has_value(); }))
      return std::nullopt;
    const double meant = pair_.meant[*at];
    HazardSign sign = format_.overflows(meant)
                          ? event(class_of_overflow(),
                                  fmt::format("'{}' reaches {:.4g}, and {} ends at {:.5g}", output_.name,
                                              largest_lost(pair_), format_.name, format_.largest))
                          : no_number(fmt::format("'{}' is {} where {:.4g} is meant, which {} holds",
                                                  output_.name, pair_.made[*at], meant, format_.name));
    sign.overflows = true;
    return sign;
  }

  // Inside of a group it is a division that makes no number of numbers, if there is one.
  HazardSign no_number(std::string sentence) const {
    const Node* member = member_;
    if (ops::is_group(node_)) {
      const auto& members = ops::body(node_).nodes();
      const auto found =
          std::find_if(members.begin(), members.end(), [](const auto& each) { return divides(*each); });
      if (found != members.end()) member = found->get();
    }
    const int failure = has_op(*member, {"Softmax", "LogSoftmax"}) ? 6 : divides(*member) ? 5 : 3;
    return {FailureClass(failure), &node_, member, std::move(sentence), true};
  }

  int class_of_overflow() const {
    if (has_sentinel(*member_, around_, format_)) return 6;
    if (is_norm_statistic(*member_, around_)) return 1;
    return feeds_softmax(*member_, around_) ? 7 : 2;
  }

  std::optional<HazardSign> zero() const {
    constexpr double kMost = 0.5;
    const auto at = new_zero(pair_);
    if (!at) return std::nullopt;
    const bool divisor = is_divisor(&output_, around_);
    if (any_operand([&](const Pair& operand) {
          return divisor ? new_zero(operand).has_value() : flushed_energy(operand) > kMost;
        }))
      return std::nullopt;
    if (!divisor && flushed_energy(pair_) <= kMost) return std::nullopt;
    return event(divisor ? 5 : 4, fmt::format("'{}' is zero where {:.3g} is meant: that is too small for {}",
                                              output_.name, pair_.meant[*at], format_.name));
  }

  std::optional<HazardSign> integers() const {
    if (!holds_integers(*member_, around_)) return std::nullopt;
    for (size_t i = 0; i < pair_.made.size(); ++i) {
      const double meant = pair_.meant[i];
      if (meant == pair_.made[i] || !std::isfinite(meant) || meant != std::nearbyint(meant)) continue;
      return event(10, fmt::format("'{}' is {:.8g} where {:.8g} is meant: {} does not hold that integer",
                                   output_.name, pair_.made[i], meant, format_.name));
    }
    return std::nullopt;
  }

  std::optional<HazardSign> argument() const {
    if (!is_angle(&output_, around_)) return std::nullopt;
    for (size_t i = 0; i < pair_.made.size(); ++i) {
      const double error = std::abs(pair_.made[i] - pair_.meant[i]);
      if (!(error >= kVisiblePhase)) continue;
      return event(11, fmt::format("the angle '{}' of {:.6g} is off by {:.2g} in {}", output_.name,
                                   pair_.meant[i], error, format_.name));
    }
    return std::nullopt;
  }

  // A node of a group, or the node itself, whose results jump.
  const Node* decision_inside() const {
    const auto jumps = [](const Node& node) {
      return has_op(node, {"Floor", "Ceil", "Round", "Sign", "Where", "Equal", "Greater", "Less",
                           "GreaterOrEqual", "LessOrEqual", "ArgMax", "ArgMin", "TopK"});
    };
    if (!ops::is_group(node_)) return jumps(*member_) ? member_ : nullptr;
    const auto& members = ops::body(node_).nodes();
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& member) { return jumps(*member); });
    return found == members.end() ? nullptr : found->get();
  }

  std::optional<HazardSign> amplification() const {
    constexpr double kMuch = 1000, kNoticed = 0.05;
    const double error = relative_error(pair_);
    if (error < kNoticed) return std::nullopt;
    double read = format_.unit_roundoff();
    for (const Value* input : node_.inputs) {
      const auto operand = pair_of(input, runs_);
      if (operand) read = std::max(read, relative_error(*operand));
    }
    if (error < std::min(kMuch, 0.5 / format_.unit_roundoff()) * read) return std::nullopt;
    if (const Node* decides = decision_inside())
      return HazardSign{
          FailureClass(17), &node_, decides,
          fmt::format("rounding decides otherwise than meant: '{}' behind it is off by {:.2g} of "
                      "its size, and nothing that it is made of by more than {:.2g}",
                      output_.name, error, read),
          false};
    const int failure = !node_.regions.empty() && has_op(node_, {"Loop", "Scan"}) ? 18
                        : ops::has_trait(*member_, ops::kRecurrent)               ? 18
                        : has_op(*member_, {"Softmax", "LogSoftmax"})             ? 7
                        : has_op(*member_, {"Sin", "Cos", "Tan", "Exp", "Pow"})   ? 11
                                                                                  : 12;
    return HazardSign{FailureClass(failure), &node_, member_,
                      fmt::format("'{}' is off by {:.2g} of its size, and nothing that it is made of by more "
                                  "than {:.2g}",
                                  output_.name, error, read),
                      false};
  }

  const Node& node_;
  const Value& output_;
  const RunPair& runs_;
  const Surroundings& around_;
  const NarrowFormat& format_;
  const Pair& pair_;
  const Node* member_ = nullptr;
};

// Finds a value that is no float, and another one than meant.
std::optional<HazardSign> decision(const Node& node, const Value& output, const Pair& pair,
                                   const RunPair& runs, const Surroundings& around) {
  // The cost of a scale is no decision (quantization_hazards.h).
  const Node* maker = around.producer(&output);
  if (pair.made == pair.meant || (maker != nullptr && quantizes(*maker))) return std::nullopt;
  const bool read_decisions = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    const auto operand = pair_of(input, runs);
    return operand && !is_float(element_type_of(input)) && operand->made != operand->meant;
  });
  if (read_decisions) return std::nullopt;
  size_t other = 0;
  for (size_t i = 0; i < pair.made.size(); ++i) other += pair.made[i] != pair.meant[i] ? 1 : 0;
  return HazardSign{FailureClass(17), &node, &node,
                    fmt::format("rounding decides {} of {} elements of '{}' otherwise than meant", other,
                                pair.made.size(), output.name),
                    false};
}

}  // namespace

std::optional<HazardSign> hazard_sign(const Node& node, const RunPair& runs, const Surroundings& around) {
  for (const Value* output : node.outputs) {
    const auto pair = pair_of(output, runs);
    if (!pair) continue;
    const auto format = format_of(element_type_of(output));
    std::optional<HazardSign> sign;
    if (format)
      sign = Signs(node, *output, runs, around, *format, *pair).first();
    else if (!is_float(element_type_of(output)))
      sign = decision(node, *output, *pair, runs, around);
    if (sign) return sign;
  }
  return std::nullopt;
}

bool survives(const Value& value, const RunPair& runs, const Surroundings& around) {
  const auto format = format_of(element_type_of(&value));
  const Tensor* meant = runs.meant(value);
  if (!format || meant == nullptr) return true;
  const Node* maker = around.producer(&value);
  const bool divisor = is_divisor(&value, around), angle = is_angle(&value, around),
             integral = maker != nullptr && holds_integers(*maker, around);
  const auto values = meant->to_doubles();
  return std::none_of(values.begin(), values.end(), [&](double each) {
    const double held = format->round(each);
    return format->overflows(each) || (divisor && each != 0 && held == 0) ||
           (angle && std::abs(held - each) >= kVisiblePhase) ||
           (integral && each == std::nearbyint(each) && held != each);
  });
}

}  // namespace vernier
