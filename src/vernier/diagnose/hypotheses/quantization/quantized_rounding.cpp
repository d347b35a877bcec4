// B28: integers are made of reals in another way than QuantizeLinear says.
#include <cmath>

#include "vernier/diagnose/hypotheses/quantization/quantized_operands.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

const QuantizedOperand* quantized_result(const std::vector<QuantizedOperand>& operands) {
  for (const QuantizedOperand& each : operands) {
    if (!each.tensor && each.scale) return &each;
  }
  return nullptr;
}

// Holds what is rounded: quotients as floats, since these decide what is a tie; and the zero point.
struct Quotients {
  std::vector<double> values;
  double zero_point = 0;
};

Quotients quotients_of(const Member& member, size_t zero_point) {
  Quotients made{unrounded_result(member), 0};
  if (member.has(zero_point)) made.zero_point = member.in(zero_point).to_doubles().at(0);
  for (double& value : made.values) value = static_cast<float>(value - made.zero_point);
  return made;
}

Tensors stored(const Member& member, Quotients quotients, double (*round)(double)) {
  for (double& value : quotients.values) value = round(value) + quotients.zero_point;
  return {as_result(member, std::move(quotients.values))};
}

double half_up(double value) {
  return std::floor(value + 0.5);
}
double half_down(double value) {
  return std::ceil(value - 0.5);
}

void propose_roundings(const Member& member, size_t zero_point, std::vector<Proposal>& proposals) {
  struct Way {
    const char* what;
    double (*round)(double);
  };
  const Way ways[] = {{"ties are rounded away from zero", [](double value) { return std::round(value); }},
                      {"ties are rounded up", half_up},
                      {"ties are rounded down", half_down},
                      {"fractions are cut off toward zero", [](double value) { return std::trunc(value); }},
                      {"fractions are cut off downward", [](double value) { return std::floor(value); }},
                      {"fractions are rounded upward", [](double value) { return std::ceil(value); }}};
  for (const Way& way : ways)
    proposals.push_back({FailureClass(28), way.what, [&member, zero_point, round = way.round] {
                           return stored(member, quotients_of(member, zero_point), round);
                         }});
  proposals.push_back({FailureClass(28), "the zero point is added before it is rounded", [&member] {
                         auto codes = unrounded_result(member);
                         for (double& code : codes) code = static_cast<float>(code);
                         return Tensors{as_result(member, std::move(codes))};
                       }});
}

// The integers beyond the range of the type.
void propose_limits(const Member& member, std::vector<Proposal>& proposals) {
  const ops::ValueRange range = ops::value_range(member.out().type());
  const double span = range.high - range.low + 1;
  proposals.push_back(
      {FailureClass(28), "integers wrap around where they should saturate", [&member, range, span] {
         auto codes = unrounded_result(member);
         for (double& code : codes) {
           code = std::nearbyint(code);
           code -= span * std::floor((code - range.low) / span);
         }
         return Tensors{as_result(member, std::move(codes))};
       }});
  const auto limit = [&](const char* what, double low, double high) {
    proposals.push_back({FailureClass(28), what, [&member, low, high] {
                           auto codes = unrounded_result(member);
                           for (double& code : codes) code = std::clamp(code, low, high);
                           return Tensors{as_result(member, std::move(codes))};
                         }});
  };
  if (range.low < 0)
    limit("the lowest integer is left out: the range is symmetric", range.low + 1, range.high);
  limit("integers have one bit less", std::ceil(range.low / 2), std::floor(range.high / 2));
}

// The factor by which integers that are inside the range differ from what they should be.
double factor_of(const Quotients& right, const Tensor& made) {
  const ops::ValueRange range = ops::value_range(made.type());
  const auto codes = made.to_doubles();
  double products = 0, squares = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] <= range.low || codes[i] >= range.high) continue;
    products += right.values[i] * (codes[i] - right.zero_point);
    squares += right.values[i] * right.values[i];
  }
  return squares > 0 ? products / squares : 1;
}

// Rounding hides the factor by a little: of those next to it the one that makes most of the integers.
double refined(const Quotients& right, const Tensor& made, double about) {
  const auto codes = made.to_doubles();
  constexpr int kSteps = 40;
  constexpr double kReach = 0.01;
  double best = about;
  size_t fewest = codes.size() + 1;
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double factor = about * (1 + kReach * step / kSteps);
    size_t wrong = 0;
    for (size_t i = 0; i < codes.size(); ++i)
      wrong += std::nearbyint(right.values[i] * factor) + right.zero_point == codes[i] ? 0 : 1;
    if (wrong >= fewest) continue;
    fewest = wrong;
    best = factor;
  }
  return best;
}

void propose_multiplier(const Member& member, size_t zero_point, const Tensor& made,
                        std::vector<Proposal>& proposals) {
  const Quotients right = quotients_of(member, zero_point);
  const double factor = refined(right, made, factor_of(right, made));
  constexpr double kLeast = 1e-6, kMost = 0.15;
  if (!(std::abs(factor - 1) > kLeast) || std::abs(factor - 1) > kMost) return;
  constexpr double kFitted = 0.005;
  proposals.push_back({FailureClass(28),
                       fmt::format("the factor of requantization is {:.6g} times what it should be", factor),
                       [&member, right, factor] {
                         Quotients moved = right;
                         for (double& value : moved.values) value *= factor;
                         return stored(member, moved, [](double value) { return std::nearbyint(value); });
                       },
                       {},
                       kFitted});
}

// Whatever the reason, no integer is more than one step off.
void propose_one_step(const Member& member, const Tensor& made, std::vector<Proposal>& proposals) {
  const auto right = member.out().to_doubles(), codes = made.to_doubles();
  for (size_t i = 0; i < codes.size(); ++i) {
    if (std::abs(right[i] - codes[i]) > 1) return;
  }
  constexpr double kNoCause = 0.25;
  proposals.push_back({FailureClass(28),
                       "integers are one step off, and never more",
                       [&made] { return Tensors{made}; },
                       {},
                       kNoCause});
}

}  // namespace

void propose_quantized_rounding(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                                std::vector<Proposal>& proposals) {
  const auto operands = quantized_operands(member.node());
  const QuantizedOperand* result = quantized_result(operands);
  if (result == nullptr || !is_integer(member.out().type()) || member.out().size() == 0) return;
  propose_roundings(member, *result->zero_point, proposals);
  propose_limits(member, proposals);
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || made->type() != member.out().type()) return;
  propose_multiplier(member, *result->zero_point, *made, proposals);
  propose_one_step(member, *made, proposals);
}

}  // namespace vernier
