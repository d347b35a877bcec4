#include "vernier/diagnose/experiments/integer_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "vernier/diagnose/causes/member.h"
#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

// Follows values out of the groups around them, and into those that make them.
class Origins {
 public:
  // `inputs` are those of the node, where they are known.
  Origins(const Node& whole, std::span<const Tensor> inputs) : whole_(whole), inputs_(inputs) {
    enter(whole);
  }

  // Null for what no node makes.
  const Node* maker_of(const Value* value) {
    for (;;) {
      value = outside(value);
      const Node* maker = value == nullptr ? nullptr : value->producer();
      if (maker == nullptr || !ops::is_group(*maker)) return maker;
      enter(*maker);
      const auto place = std::find(maker->outputs.begin(), maker->outputs.end(), value);
      value = ops::body(*maker).outputs[static_cast<size_t>(place - maker->outputs.begin())];
    }
  }

  // By which the node that makes a value quantizes or dequantizes, by element or channel; empty: none is
  // known.
  std::vector<double> scales_of(const Value* value, std::string_view op) {
    const Node* maker = maker_of(value);
    if (maker == nullptr || maker->op != op || maker->input(1) == nullptr) return {};
    const Tensor* scale = content_of(maker->input(1));
    return scale == nullptr ? std::vector<double>() : scale->to_doubles();
  }

 private:
  void enter(const Node& node) {
    if (!ops::is_group(node)) return;
    const Graph& body = ops::body(node);
    for (size_t i = 0; i < body.inputs.size(); ++i) outside_[body.inputs[i]] = node.inputs[i];
    for (const auto& member : body.nodes()) enter(*member);
  }

  const Value* outside(const Value* value) const {
    for (auto found = outside_.find(value); found != outside_.end(); found = outside_.find(value))
      value = found->second;
    return value;
  }

  // Null where it is not known: it is if it is a constant, or an operand of the whole.
  const Tensor* content_of(const Value* value) const {
    value = outside(value);
    if (value != nullptr && value->is_constant()) return &*value->constant;
    const auto place = static_cast<size_t>(std::find(whole_.inputs.begin(), whole_.inputs.end(), value) -
                                           whole_.inputs.begin());
    return place < std::min(whole_.inputs.size(), inputs_.size()) && inputs_[place].is_defined()
               ? &inputs_[place]
               : nullptr;
  }

  const Node& whole_;
  std::span<const Tensor> inputs_;
  std::map<const Value*, const Value*> outside_;
};

double largest(const std::vector<double>& scales) {
  return scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end());
}

// Whether a bias is an integer already, of the step of the sums.
bool is_whole(const Value* bias, Origins& origins) {
  const Node* maker = origins.maker_of(bias);
  if (maker == nullptr || maker->op != "DequantizeLinear" || maker->input(0) == nullptr) return false;
  const ValueType& type = maker->input(0)->type;
  return type.is_tensor() && type.tensor.element == ElementType::kInt32;
}

double step_of_sums(const Node& product, Origins& origins) {
  const auto* def = ops::OpRegistry::instance().find(product);
  if (def == nullptr || (def->traits & ops::kContraction) == 0) return 0;
  if (is_whole(product.input(2), origins)) return 0;
  return largest(origins.scales_of(product.input(0), "DequantizeLinear")) *
         largest(origins.scales_of(product.input(1), "DequantizeLinear"));
}

// Holds what a node that quantizes at the end would make without rounding.
struct RealCodes {
  std::vector<double> values;
  double near = 0;  // how far sums in integers may move one
};

// Nothing where another node is the last one, or the node cannot be run by itself.
std::optional<RealCodes> real_codes(const FlaggedNode& flagged) try {
  const Members members(flagged);
  const Member& last = members.all().back();
  if (!last.is("QuantizeLinear")) return std::nullopt;
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < last.input_count(); ++i) operands.push_back(last.has(i) ? &last.in(i) : nullptr);
  RealCodes codes{unrounded_codes(last.node(), operands).to_doubles(), 0.02};
  double step = 0;
  Origins origins(*flagged.node, flagged.inputs);
  for (const Member& member : members.all()) step = std::max(step, step_of_sums(member.node(), origins));
  const auto scales = last.in(1).to_doubles();
  const double scale = scales.empty() ? 0 : *std::min_element(scales.begin(), scales.end());
  if (scale > 0) codes.near += 0.6 * step / scale;  // half a step, and what floats do to it
  return codes;
} catch (const Error&) {
  return std::nullopt;
}

// Numbers as far from a tie as one rounding of a float takes them lie on it.
bool is_on_tie(double real) {
  constexpr double kOn = 1e-7;
  return std::abs(real - std::floor(real) - 0.5) <= kOn * (1 + std::abs(real));
}

// Whether so many integers differ from the expected ones as a rule of its own makes of ties, all by one.
bool differ_often_by_one(std::span<const double> made, std::span<const double> sound) {
  constexpr double kOften = 1e-3;
  constexpr size_t kLeast = 16;
  size_t differ = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (std::abs(made[i] - sound[i]) > 1) return false;
    differ += made[i] != sound[i] ? 1 : 0;
  }
  return differ >= kLeast && static_cast<double>(differ) >= kOften * static_cast<double>(made.size());
}

}  // namespace

void deny_chance_at_ties(FlaggedNode& flagged, size_t output) {
  ElementErrors& expected = flagged.expected[output];
  const Tensor& shown = flagged.made[output];
  if (!is_integer(shown.type()) || shown.dims() != expected.value.dims()) return;
  const auto made = shown.to_doubles(), sound = expected.value.to_doubles();
  if (!differ_often_by_one(made, sound)) return;
  const auto codes = real_codes(flagged);
  if (!codes || codes->values.size() != made.size()) return;
  const auto& reals = codes->values;
  double (*const rules[])(double) = {[](double x) { return std::round(x); },
                                     [](double x) { return std::floor(x + 0.5); },
                                     [](double x) { return std::ceil(x - 0.5); }};
  const ops::ValueRange range = ops::value_range(shown.type());
  for (const auto rule : rules) {
    std::vector<size_t> otherwise;
    bool is_kept = true;
    for (size_t i = 0; i < made.size() && is_kept; ++i) {
      if (!is_on_tie(reals[i])) continue;
      const double tie = std::floor(reals[i]) + 0.5;
      is_kept = made[i] == ops::saturate(rule(tie), range);
      if (made[i] != sound[i]) otherwise.push_back(i);
    }
    constexpr size_t kNoChance = 16;  // each is rounded so by chance in one of two cases
    if (!is_kept || otherwise.size() < kNoChance) continue;
    for (const size_t i : otherwise) expected.error[i] = 0;
    return;
  }
}

bool differs_near_ties_alone(const FlaggedNode& flagged) {
  constexpr double kFew = 0.02;
  const Tensor& made = flagged.made[flagged.output];
  const Tensor& expected = flagged.expected[flagged.output].value;
  if (!is_integer(made.type()) || made.dims() != expected.dims() || made.size() == 0) return false;
  const auto codes = real_codes(flagged);
  if (!codes || codes->values.size() != static_cast<size_t>(made.size())) return false;
  const auto& reals = codes->values;
  const auto actual = made.to_doubles(), sound = expected.to_doubles();
  size_t differ = 0, on_ties = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == sound[i]) continue;
    const double tie = std::abs(reals[i] - std::floor(reals[i]) - 0.5);
    if (std::abs(actual[i] - sound[i]) != 1 || tie > codes->near) return false;
    ++differ;
    on_ties += is_on_tie(reals[i]) ? 1 : 0;
  }
  // A sum may come to lie on a tie; a rule that rounds ties otherwise changes little else.
  return 2 * on_ties <= differ &&
         static_cast<double>(differ) <= kFew * static_cast<double>(actual.size()) + 1;
}

SumSteps integer_sum_steps(const Node& whole, std::span<const Tensor> inputs) {
  return [origins = std::make_shared<Origins>(whole, inputs)](const Node& product) {
    return step_of_sums(product, *origins);
  };
}

bool may_sum_integers(const NumericsContract* contract) {
  return contract == nullptr || is_integer(contract->accumulated);
}

}  // namespace vernier
