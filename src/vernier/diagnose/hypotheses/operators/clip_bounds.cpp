// B32: a bound of a Clip, Relu or HardSigmoid is lost, or another one.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/numeric/operand_format.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// Before opset 11 the bounds are attributes, then inputs 1 and 2.
bool has_bound(const Member& clip, size_t input, const char* attribute) {
  return clip.has(input) || clip.node().find_attribute(attribute) != nullptr;
}

// The bound, which the node has.
double bound_of(const Member& clip, size_t input, const char* attribute) {
  return clip.has(input) ? clip.in(input).to_doubles().at(0)
                         : static_cast<double>(*ops::clip_bound_attribute(clip.node(), attribute));
}

Tensors without_bounds(const Member& clip, bool lower, bool upper) {
  Tensors inputs = clip.inputs();
  if (lower && clip.has(1)) inputs[1] = {};
  if (upper && clip.has(2)) inputs[2] = {};
  return clip.changed(
      [&](Node& node) {
        if (lower) node.attributes.erase("min");
        if (upper) node.attributes.erase("max");
      },
      std::move(inputs));
}

Tensors with_bounds(const Member& clip, double low, double high) {
  Tensors inputs = clip.inputs();
  const double bounds[] = {low, high};
  for (const size_t i : {1, 2}) {
    if (clip.has(i)) inputs[i] = Tensor::from_doubles(clip.in(i).type(), {}, std::span(&bounds[i - 1], 1));
  }
  return clip.changed(
      [&](Node& node) {
        if (node.find_attribute("min") != nullptr) node.attributes["min"] = static_cast<float>(low);
        if (node.find_attribute("max") != nullptr) node.attributes["max"] = static_cast<float>(high);
      },
      std::move(inputs));
}

// Proposes bounds that a kernel was fused for, or which the caller gives and the engine read when it was
// built, or in a run before: nothing that it made lies outside of them.
void propose_other_bounds(const Member& clip, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  const auto output = stored_output(clip, 0, flagged);
  if (!output || !flagged.made[*output].is_defined() || flagged.made[*output].size() == 0) return;
  const bool given = (clip.has(1) && !clip.is_constant(1)) || (clip.has(2) && !clip.is_constant(2));
  const auto made = flagged.made[*output].to_doubles();
  const auto [low, high] = std::minmax_element(made.begin(), made.end());
  proposals.push_back(
      {FailureClass(32),
       fmt::format("its bounds are {:.6g} and {:.6g}{}", *low, *high, given ? ", those from before" : ""),
       [&clip, low = *low, high = *high] { return with_bounds(clip, low, high); },
       {},
       kFittedNumber});
}

// As a Relu that became a Relu6.
void propose_upper_bound(const Member& relu, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  const auto output = stored_output(relu, 0, flagged);
  if (!output || !flagged.made[*output].is_defined() || flagged.made[*output].size() == 0) return;
  const auto made = flagged.made[*output].to_doubles();
  const double high = *std::max_element(made.begin(), made.end());
  proposals.push_back({FailureClass(32),
                       fmt::format("it has an upper bound, of {:.6g}", high),
                       [&relu, high] {
                         auto values = relu.out().to_doubles();
                         for (double& value : values) value = std::min(value, high);
                         return Tensors{Tensor::from_doubles(relu.out().type(), relu.out().dims(), values)};
                       },
                       {},
                       kFittedNumber});
}

// As a Relu that became a Clip to another interval.
void propose_lower_bound(const Member& relu, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  const auto output = stored_output(relu, 0, flagged);
  if (!output || !flagged.made[*output].is_defined() || flagged.made[*output].size() == 0) return;
  const auto made = flagged.made[*output].to_doubles();
  const double low = *std::min_element(made.begin(), made.end());
  proposals.push_back({FailureClass(32),
                       fmt::format("its lower bound is {:.6g} instead of 0", low),
                       [&relu, low] {
                         auto values = relu.in(0).to_doubles();
                         for (double& value : values) value = std::max(value, low);
                         return Tensors{Tensor::from_doubles(relu.out().type(), relu.out().dims(), values)};
                       },
                       {},
                       kFittedNumber});
}

// Elements outside of the bounds become zero, as where a mask is multiplied.
void propose_zeros_outside(const Member& clip, std::vector<Proposal>& proposals) {
  proposals.push_back({FailureClass(32), "what lies outside of its bounds becomes zero", [&clip] {
                         const auto read = clip.in(0).to_doubles();
                         auto values = clip.out().to_doubles();
                         for (size_t i = 0; i < values.size(); ++i)
                           values[i] = values[i] == read[i] ? read[i] : 0;
                         return Tensors{Tensor::from_doubles(clip.out().type(), clip.out().dims(), values)};
                       }});
}

// Both bounds, where the node has them. Bounds that are inputs come with opset 11.
std::optional<std::pair<double, double>> both_bounds(const Member& clip) {
  if (!has_bound(clip, 1, "min") || !has_bound(clip, 2, "max")) return std::nullopt;
  const std::pair bounds(bound_of(clip, 1, "min"), bound_of(clip, 2, "max"));
  const double range = bounds.second - bounds.first;
  return range > 0 && std::isfinite(range) ? std::optional(bounds) : std::nullopt;
}

// Whether its lower bound only keeps what follows from dividing by zero, and that float16 takes for zero.
bool has_epsilon(const Member& clip) {
  if (!has_bound(clip, 1, "min")) return false;
  const double value = bound_of(clip, 1, "min");
  return value > 0 && OperandFormat(ElementType::kFloat16).round(value) == 0;
}

// Proposes the bounds of Relu and Relu6, which kernels have built in, in the place of others. An epsilon that
// became 0 is a matter of precision.
void propose_built_in_bounds(const Member& clip, std::vector<Proposal>& proposals) {
  const bool lower = has_bound(clip, 1, "min"), upper = has_bound(clip, 2, "max");
  const double low = lower ? bound_of(clip, 1, "min") : -HUGE_VAL,
               high = upper ? bound_of(clip, 2, "max") : HUGE_VAL;
  constexpr double kSix = 6;
  const auto add = [&](const char* what, double from, double to) {
    if (from > to) return;
    proposals.push_back({FailureClass(32), what, [&clip, from, to] { return with_bounds(clip, from, to); }});
  };
  if (lower && low != 0 && !has_epsilon(clip)) add("the lower bound is 0 in its place", 0, high);
  if (upper && high != kSix) add("the upper bound is 6 in its place", low, kSix);
}

// Proposes that elements beyond a bound come back from it, or in at the other one, or that nothing is cut off
// but saturates.
void propose_other_ends(const Member& clip, std::vector<Proposal>& proposals) {
  const auto bounds = both_bounds(clip);
  if (!bounds || !is_float(clip.in(0).type())) return;
  const double low = bounds->first, high = bounds->second;
  const auto add = [&](const char* what, const std::function<double(double)>& each) {
    proposals.push_back({FailureClass(32), what, [&clip, each] {
                           auto values = clip.in(0).to_doubles();
                           for (double& value : values) value = each(value);
                           return Tensors{Tensor::from_doubles(clip.out().type(), clip.out().dims(), values)};
                         }});
  };
  const auto mirrored = [&](const char* what, double lower, double upper) {
    add(what, [=](double x) {
      return x > high ? std::min(high, upper - x) : x < low ? std::max(low, lower - x) : x;
    });
  };
  mirrored("what is above the upper bound is mirrored at it", -HUGE_VAL, 2 * high);
  mirrored("what is below the lower bound is mirrored at it", 2 * low, HUGE_VAL);
  mirrored("what is beyond a bound is mirrored at it", 2 * low, 2 * high);
  add("what is beyond a bound comes in at the other one", [=](double x) {
    return x < low || x > high ? x - (high - low) * std::floor((x - low) / (high - low)) : x;
  });
  const auto saturating = [&](const char* what, double middle, double most) {
    add(what, [=](double x) { return middle + most * std::tanh((x - middle) / most); });
  };
  saturating("it saturates smoothly between its bounds", low + (high - low) / 2, (high - low) / 2);
  const double most = std::max(std::abs(low), std::abs(high));
  if (low != -high) saturating("it saturates smoothly at its larger bound, on either side", 0, most);
}

}  // namespace

void propose_clip_bounds(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                         std::vector<Proposal>& proposals) {
  const FailureClass failure(32);
  if (member.is("Relu")) {
    proposals.push_back({failure, "Relu passes what is negative", [&] { return Tensors{member.in(0)}; }});
    propose_upper_bound(member, flagged, proposals);
    propose_lower_bound(member, flagged, proposals);
  }
  if (!member.is("Clip")) return;
  propose_other_bounds(member, flagged, proposals);
  if (!has_epsilon(member)) propose_zeros_outside(member, proposals);
  propose_other_ends(member, proposals);
  const bool lower = has_bound(member, 1, "min"), upper = has_bound(member, 2, "max");
  if (upper)
    proposals.push_back(
        {failure, "the upper bound is lost", [&] { return without_bounds(member, false, true); }});
  if (lower)
    proposals.push_back({has_epsilon(member) ? FailureClass(5) : failure, "the lower bound is lost",
                         [&] { return without_bounds(member, true, false); }});
  if (lower && upper)
    proposals.push_back(
        {failure, "both bounds are lost", [&] { return without_bounds(member, true, true); }});
  propose_built_in_bounds(member, proposals);
  if (member.has(1) && member.has(2)) {
    proposals.push_back({failure, "the bounds are exchanged", [&] {
                           Tensors inputs = member.inputs();
                           std::swap(inputs[1], inputs[2]);
                           return member.with_inputs(std::move(inputs));
                         }});
  }
}

}  // namespace vernier
