// B37: what becomes of NaN.
#include <cmath>
#include <limits>

#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_nan(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type())) return false;
  const auto values = tensor.to_doubles();
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

Tensor without_nan(const Tensor& tensor, double instead) {
  if (!has_nan(tensor)) return tensor;
  return mapped(tensor, [instead](double value) { return std::isnan(value) ? instead : value; });
}

void propose_nan(const Variations& variations) {
  const Member& member = variations.member();
  const auto add = [&](const char* what, double instead) {
    variations.add(what, [&member, instead] {
      Tensors inputs = member.inputs();
      for (Tensor& input : inputs) input = without_nan(input, instead);
      return member.with_inputs(std::move(inputs));
    });
  };
  bool meets = false;
  for (const Tensor& input : member.inputs()) meets = meets || has_nan(input);
  if (meets) {
    add("NaN is taken for 0", 0);
    add("NaN is taken for the lowest number", -kInfinity);
    add("NaN is taken for the highest number", kInfinity);
  }
  if (member.outputs().empty() || !has_nan(member.out())) return;
  for (const double instead : {0.0, 1.0, -kInfinity, kInfinity})
    variations.add_result(fmt::format("what should be NaN becomes {:g}", instead),
                          [instead](const Tensor& right) { return without_nan(right, instead); });
}

// Comparisons and choices let NaN through as one operand or the other.
void propose_nan_that_spreads(const Variations& variations) {
  const Member& member = variations.member();
  const bool chooses = member.is("Max") || member.is("Min") || member.is("Clip") || member.is("Relu");
  if (!chooses || member.input_count() != 2 || (!has_nan(member.in(0)) && !has_nan(member.in(1)))) return;
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    if (member.in(kept).dims() != member.out().dims() || !has_nan(member.in(1 - kept))) continue;
    variations.add_result(fmt::format("where operand {} is NaN the other one counts", 1 - kept),
                          [&member, kept](const Tensor& right) {
                            auto values = right.to_doubles();
                            const auto other = member.in(kept).to_doubles();
                            for (size_t i = 0; i < values.size(); ++i) {
                              if (std::isnan(values[i])) values[i] = other[i];
                            }
                            return Tensor::from_doubles(right.type(), right.dims(), values);
                          });
  }
}

}  // namespace

void propose_nans(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                  std::vector<Proposal>& proposals) {
  if (member.outputs().empty() || !member.out().is_defined()) return;
  const Variations variations(member, flagged, 37, proposals);
  propose_nan(variations);
  propose_nan_that_spreads(variations);
}

}  // namespace vernier
