// B31, B35: what a node reads beside its first operand is not there, or is there twice or with the other
// sign: a bias, a residual, a factor; or all channels are scaled as the first one is.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/mask_content.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

Tensor filled_like(const Tensor& like, double value) {
  const std::vector<double> values(static_cast<size_t>(like.size()), value);
  return Tensor::from_doubles(like.type(), like.dims(), values);
}

// The first element in place of all others.
Tensor first_of_all(const Tensor& tensor) {
  return filled_like(tensor, tensor.to_doubles().at(0));
}

bool is_real(const Member& member, size_t input) {
  return member.has(input) && is_float(member.in(input).type()) && member.in(input).size() > 0;
}

// Whether float16 has nothing but zeros for it, as for an epsilon of 1e-12.
bool vanishes(const Tensor& operand) {
  const auto values = operand.to_doubles();
  const auto half = Tensor::from_doubles(ElementType::kFloat16, operand.dims(), values).to_doubles();
  return std::all_of(half.begin(), half.end(), [](double value) { return value == 0; }) &&
         std::any_of(values.begin(), values.end(), [](double value) { return value != 0; });
}

// Without a mask that depends on the data, padding is counted.
int class_of_loss(const Member& member, size_t input) {
  const Tensor& operand = member.in(input);
  if (member.is_constant(input) && vanishes(operand)) return 5;
  const bool masks =
      member.is("Mul") ? is_factor_mask(operand) : member.is("Add") && is_additive_mask(operand);
  return masks && !member.is_constant(input) ? 38 : 31;
}

void propose_neutral(const Member& member, size_t input, double neutral, const std::string& what,
                     std::vector<Proposal>& proposals) {
  if (!is_real(member, input)) return;
  proposals.push_back({FailureClass(class_of_loss(member, input)), what, [&member, input, neutral] {
                         return member.with_input(input, filled_like(member.in(input), neutral));
                       }});
}

std::string operand_text(const Member& member, size_t input) {
  return fmt::format("operand {} ('{}')", input, member.node().inputs[input]->name);
}

void propose_of_pointwise(const Member& member, std::vector<Proposal>& proposals) {
  const bool adds = member.is("Add") || member.is("Sub") || member.is("Sum"),
             scales = member.is("Mul") || member.is("Div");
  if (!adds && !scales) return;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (member.is("Div") && i == 0) continue;
    propose_neutral(member, i, adds ? 0 : 1,
                    fmt::format("{} is lost: it is taken for {}", operand_text(member, i), adds ? 0 : 1),
                    proposals);
  }
}

// Proposes operands that are added or multiplied where they should not be, too.
void propose_repeated(const Variations& variations) {
  const Member& member = variations.member();
  const bool adds = member.is("Add") || member.is("Sub") || member.is("Sum"),
             scales = member.is("Mul") || member.is("Div");
  if (!adds && !scales) return;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!is_real(member, i)) continue;
    const std::string operand = operand_text(member, i);
    if (adds) {
      variations.add_operand(operand + " counts twice", i, [](const Tensor& each) {
        return mapped(each, [](double value) { return 2 * value; });
      });
      variations.add_operand(operand + " has the other sign", i, [](const Tensor& each) {
        return mapped(each, [](double value) { return -value; });
      });
    } else if (i != 0 || !member.is("Div")) {
      variations.add_operand(operand + " is applied twice", i, [](const Tensor& each) {
        return mapped(each, [](double value) { return value * value; });
      });
      variations.add_operand("the root of " + operand + " is applied", i, [](const Tensor& each) {
        return mapped(each, [](double value) { return std::copysign(std::sqrt(std::abs(value)), value); });
      });
      variations.add_operand(fmt::format("the inverse of {} is applied", operand), i, [](const Tensor& each) {
        return mapped(each, [](double value) { return 1 / value; });
      });
    }
  }
}

// One scale for all channels.
void propose_first_channel(const Member& member, size_t input, FailureClass failure, const std::string& what,
                           std::vector<Proposal>& proposals) {
  if (!is_real(member, input) || member.in(input).size() < 2) return;
  proposals.push_back(
      {failure, fmt::format("the first channel's {} serves all channels", what),
       [&member, input] { return member.with_input(input, first_of_all(member.in(input))); }});
}

// Functions and normalisations that a fused kernel leaves out, or takes for the one that is most usual.
void propose_lost_function(const Variations& variations) {
  const Member& member = variations.member();
  static const std::set<std::string, std::less<>> own{"Relu",  "Clip", "Cast",   "Identity", "Round",
                                                      "Floor", "Ceil", "Dropout"};  // causes of their own
  const bool is_function = (member.input_count() == 1 && own.count(member.op()) == 0) || member.is("PRelu") ||
                           ops::has_trait(member.node(), ops::kNormalisation);
  if (!is_function || !member.node().domain.empty() || !is_real(member, 0) || !member.out().is_defined() ||
      !is_float(member.out().type()) || member.out().dims() != member.in(0).dims())
    return;
  variations.add("it is not computed: what it reads is passed on", [&member] {
    Tensors results(member.outputs().size());
    results[0] = member.in(0);
    return results;
  });
  variations.add("it is computed twice", [&member] { return member.with_input(0, member.out()); });
  variations.add("Relu is computed in its place", [&member] {
    Tensors results(member.outputs().size());
    results[0] = mapped(member.in(0), [](double value) { return value < 0 ? 0 : value; });
    return results;
  });
}

}  // namespace

void propose_lost_operands(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                           std::vector<Proposal>& proposals) {
  const Node& node = member.node();
  const auto bias = ops::input_of(node, ops::Role::kBias), gain = ops::input_of(node, ops::Role::kGain),
             variance = ops::input_of(node, ops::Role::kVariance);
  if (ops::has_trait(node, ops::kProducts) && bias) {
    propose_neutral(member, *bias, 0, "the bias is lost", proposals);
    Variations(member, flagged, 31, proposals)
        .add_operand("the bias counts twice", *bias,
                     [](const Tensor& each) { return mapped(each, [](double value) { return 2 * value; }); });
  }
  propose_lost_function(Variations(member, flagged, 31, proposals));
  propose_of_pointwise(member, proposals);
  propose_repeated(Variations(member, flagged, 31, proposals));
  if (node.domain.empty() && ops::has_trait(node, ops::kNormalisation) && gain) {
    propose_neutral(member, *gain, 1, "the scale is lost", proposals);
    if (bias) propose_neutral(member, *bias, 0, "the bias is lost", proposals);
    propose_first_channel(member, *gain, FailureClass(35), "scale", proposals);
    if (variance) propose_first_channel(member, *variance, FailureClass(35), "variance", proposals);
  }
  if (member.is("Mul") || member.is("Div")) {
    for (size_t i : {size_t{1}, size_t{0}}) {
      if (member.is_constant(i)) propose_first_channel(member, i, FailureClass(35), "factor", proposals);
    }
  }
}

}  // namespace vernier
