// B28 and B31: the int32 bias that QLinearConv adds to its sums of products is lost, or another one; borders
// that hold the integer 0; results that a Relu was fused to.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {

namespace {

constexpr int kClass = 28, kOperand = 31;
constexpr size_t kScale = 1, kZeroPoint = 2, kWeightScale = 4, kResultScale = 6, kResultZeroPoint = 7,
                 kBias = 8;

double first_of(const Member& member, size_t input) {
  return member.has(input) && member.in(input).size() > 0 ? member.in(input).to_doubles().front() : 0;
}

void propose_bias(const Variations& integers, const Variations& operands) {
  const Member& member = integers.member();
  if (!member.has(kBias)) return;
  const auto each = [](const Variations& of, std::string what, const std::function<double(double)>& change) {
    of.add_operand(std::move(what), kBias, [change](const Tensor& bias) { return mapped(bias, change); });
  };
  each(operands, "the bias is lost", [](double) { return 0; });
  each(operands, "the bias counts twice", [](double code) { return 2 * code; });
  each(operands, "the bias has the other sign", [](double code) { return -code; });
  for (const int64_t by : {1, -1})
    operands.add_operand(fmt::format("the bias is that of the channel {}", by > 0 ? "behind" : "before"),
                         kBias, [by](const Tensor& bias) { return rolled(bias, 0, by); });
  const double step = first_of(member, kScale) * first_of(member, kWeightScale);
  each(integers, "the bias is rounded to a whole real number, and that added to the integers",
       [step](double code) { return std::nearbyint(code * step); });
  const double result = first_of(member, kResultScale);
  each(integers, "the bias is multiplied by the scale of the result, and not by those of the operands",
       [result](double code) { return std::nearbyint(code * result); });
  for (const int bits : {16, 15, 14, 12, 8}) {
    const double most = std::ldexp(1, bits - 1);
    each(integers, fmt::format("the bias saturates at {} bits", bits),
         [most](double code) { return std::clamp(code, -most, most - 1); });
    each(integers, fmt::format("the bias wraps around at {} bits", bits),
         [most](double code) { return code - 2 * most * std::floor((code + most) / (2 * most)); });
  }
}

// The operand as far as windows reach, with the integer 0 where it is padded.
void propose_border(const Variations& integers) {
  const Member& member = integers.member();
  const auto pads = member.node().attribute<std::vector<int64_t>>("pads", {});
  if (first_of(member, kZeroPoint) == 0 || pads.empty()) return;
  integers.add("its border is filled with the integer 0, which is not zero", [&member, pads] {
    Tensors inputs = member.inputs();
    const size_t rank = pads.size() / 2;
    for (size_t axis = 0; axis < rank; ++axis) {
      std::vector<int64_t> places;
      const int64_t end = inputs[0].dims().at(axis + 2) + pads[rank + axis];
      for (int64_t place = -pads[axis]; place < end; ++place) places.push_back(place);
      inputs[0] = taken(inputs[0], axis + 2, places);
    }
    return member.changed([](Node& node) { node.attributes.erase("pads"); }, std::move(inputs));
  });
}

}  // namespace

void propose_quantized_bias(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                            std::vector<Proposal>& proposals) {
  const bool convolves = member.is("QLinearConv"), multiplies = member.is("QLinearMatMul");
  const Variations integers(member, flagged, kClass, proposals);
  if (member.is("ConvInteger")) return propose_border(integers);
  if (!convolves && !multiplies) return;
  if (convolves) {
    propose_bias(integers, Variations(member, flagged, kOperand, proposals));
    propose_border(integers);
  }
  const double zero = first_of(member, kResultZeroPoint);
  Variations(member, flagged, kOperand, proposals)
      .add_result("Relu is applied to its result", [zero](const Tensor& right) {
        return mapped(right, [zero](double code) { return std::max(code, zero); });
      });
}

}  // namespace vernier
