// B24 and B28: scales and zero points of other channels, or none; borders and biases in the wrong integers.
#include <cmath>

#include "vernier/diagnose/hypotheses/products/products.h"
#include "vernier/diagnose/hypotheses/quantization/quantized_operands.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

struct Variant {
  std::string what;
  std::vector<double> scales;
};

std::vector<double> turned(std::vector<double> values, size_t by) {
  std::rotate(values.begin(), values.begin() + static_cast<ptrdiff_t>(by % values.size()), values.end());
  return values;
}

// Lists what a kernel may have in place of the scales of channels.
std::vector<Variant> variants(const std::vector<double>& scales) {
  const size_t count = scales.size();
  double sum = 0;
  for (const double scale : scales) sum += scale;
  const double largest = *std::max_element(scales.begin(), scales.end());
  std::vector<Variant> found{
      {"the first channel's scale serves all channels", std::vector<double>(count, scales[0])},
      {"the largest scale serves all channels", std::vector<double>(count, largest)},
      {"the last channel's scale serves all channels", std::vector<double>(count, scales.back())},
      {"the mean of the scales serves all channels",
       std::vector<double>(count, sum / static_cast<double>(count))},
      {"the scales are in reverse", {scales.rbegin(), scales.rend()}},
  };
  for (const size_t by : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, size_t{16}}) {
    if (by >= count) break;
    found.push_back(
        {fmt::format("the scales are those of the channels {} further on", by), turned(scales, by)});
    found.push_back(
        {fmt::format("the scales are those of the channels {} before", by), turned(scales, count - by)});
  }
  return found;
}

Tensor like(const Tensor& tensor, const std::vector<double>& values) {
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

Tensor moved(const Tensor& tensor, double by) {
  auto values = tensor.to_doubles();
  for (double& value : values) value += by;
  return like(tensor, values);
}

void propose_scales(const Member& member, size_t scale, std::vector<Proposal>& proposals) {
  if (!member.has(scale) || member.in(scale).size() < 2) return;
  const auto scales = member.in(scale).to_doubles();
  for (const Variant& variant : variants(scales))
    proposals.push_back({FailureClass(24), variant.what, [&member, scale, values = variant.scales] {
                           return member.with_input(scale, like(member.in(scale), values));
                         }});
  if (member.op() != "QuantizeLinear" && member.op() != "DequantizeLinear") return;
  const Dims& dims = member.in(0).dims();
  const int64_t own = ops::integer_attribute(member.node(), "axis");
  for (size_t axis = 0; member.in(scale).rank() == 1 && axis < dims.size(); ++axis) {
    const auto other = static_cast<int64_t>(axis);
    if (dims[axis] != member.in(scale).size() || other == own ||
        other == own + static_cast<int64_t>(dims.size()))
      continue;
    proposals.push_back({FailureClass(24), fmt::format("the scales are taken for those of axis {}", axis),
                         [&member, other] { return member.with_attribute("axis", Attribute(other)); }});
  }
}

void propose_zero_point(const Member& member, size_t zero_point, std::vector<Proposal>& proposals) {
  if (!member.has(zero_point) || member.in(zero_point).size() == 0) return;
  const FailureClass failure(28);
  for (const double by : {1.0, -1.0})
    proposals.push_back({failure,
                         fmt::format("a zero point is {} by one", by > 0 ? "too large" : "too small"),
                         [&member, zero_point, by] {
                           return member.with_input(zero_point, moved(member.in(zero_point), by));
                         }});
  const auto values = member.in(zero_point).to_doubles();
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0; })) return;
  proposals.push_back({failure, "a zero point is lost: it is taken for 0", [&member, zero_point] {
                         const Tensor& given = member.in(zero_point);
                         return member.with_input(zero_point, Tensor(given.type(), given.dims()));
                       }});
}

// The bits of bytes, taken for signed ones if they are not, and the other way round.
void propose_sign(const Member& member, size_t input, std::vector<Proposal>& proposals) {
  const ElementType type = member.in(input).type();
  const bool is_signed = type == ElementType::kInt8;
  if (!is_signed && type != ElementType::kUint8) return;
  const ElementType other = is_signed ? ElementType::kUint8 : ElementType::kInt8;
  proposals.push_back({FailureClass(28),
                       fmt::format("its {} bytes are taken for {} ones", is_signed ? "signed" : "unsigned",
                                   is_signed ? "unsigned" : "signed"),
                       [&member, input, other] {
                         // As a wider type, so that no operator minds that the types do not fit.
                         const auto values = member.in(input).reinterpreted(other).to_doubles();
                         return member.with_input(
                             input,
                             Tensor::from_doubles(ElementType::kInt32, member.in(input).dims(), values));
                       }});
}

// Weights that another node has taken back to reals, with other scales than that node had.
void propose_weight_scales(const Member& member, size_t input, const FlaggedNode& flagged,
                           const HypothesisContext& context, std::vector<Proposal>& proposals) {
  const auto made = dequantized(member.node().inputs[input], flagged, context);
  const Tensor& weights = member.in(input);
  if (!made || made->scales.size() < 2 || made->axis >= weights.dims().size() ||
      weights.dims()[made->axis] != static_cast<int64_t>(made->scales.size()))
    return;
  int64_t inner = 1;
  for (size_t i = made->axis + 1; i < weights.dims().size(); ++i) inner *= weights.dims()[i];
  for (const Variant& variant : variants(made->scales))
    proposals.push_back({FailureClass(24), "of its weights " + variant.what,
                         [&member, input, inner, old = made->scales, fresh = variant.scales] {
                           auto values = member.in(input).to_doubles();
                           for (size_t i = 0; i < values.size(); ++i) {
                             const size_t channel = i / static_cast<size_t>(inner) % old.size();
                             values[i] *= fresh[channel] / old[channel];
                           }
                           return member.with_input(input, like(member.in(input), values));
                         }});
}

bool pads(const Node& node) {
  const auto* pads = node.find_attribute("pads");
  const auto automatic = ops::text_attribute(node, "auto_pad");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") return true;
  if (pads == nullptr) return false;
  const auto counts = pads->get<std::vector<int64_t>>();
  return std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count > 0; });
}

// Gives what each channel of the result gets more if its border holds `value` instead of zero: a convolution
// of what is moved by it has that border, and all else is moved back.
Tensors with_border(const Member& conv, double value) {
  Tensors inputs = conv.inputs();
  inputs[0] = moved(inputs[0], -value);
  Tensors results = conv.with_inputs(std::move(inputs));
  const auto weights = conv.in(1).to_doubles();
  auto values = results[0].to_doubles();
  const auto channels = static_cast<size_t>(results[0].dims()[1]), kernel = weights.size() / channels;
  std::vector<double> sums(channels, 0);
  for (size_t i = 0; i < weights.size(); ++i) sums[i / kernel] += weights[i];
  size_t places = 1;
  for (size_t i = 2; i < results[0].dims().size(); ++i) places *= static_cast<size_t>(results[0].dims()[i]);
  for (size_t i = 0; i < values.size(); ++i) values[i] += value * sums[i / places % channels];
  results[0] = like(results[0], values);
  return results;
}

void propose_border(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                    std::vector<Proposal>& proposals) {
  if (!member.is("Conv") || !pads(member.node())) return;
  const auto made = dequantized(member.node().inputs[0], flagged, context);
  if (!made || made->scales.size() != 1 || made->zero_points[0] == 0) return;
  proposals.push_back(
      {FailureClass(28), "its border is filled with the integer 0, which is not zero",
       [&member, value = -made->zero_points[0] * made->scales[0]] { return with_border(member, value); }});
}

// Says what becomes of an integer that leaves its type.
struct Limit {
  const char* what;
  double (*of)(double code, double least, double largest);
};

constexpr Limit kLimits[] = {
    {"saturates", [](double code, double least, double largest) { return std::clamp(code, least, largest); }},
    {"becomes the least one, as conversions of processors make it",
     [](double code, double least, double largest) { return code < least || code > largest ? least : code; }},
    {"wraps around",
     [](double code, double least, double largest) {
       const double all = largest - least + 1;
       return code - all * std::floor((code - least) / all);
     }},
};

// Integer kernels add the bias in steps of both scales. Where these are tiny, as of a channel without
// weights, it leaves the range of its type.
void propose_integer_bias(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                          std::vector<Proposal>& proposals) {
  if ((!member.is("Conv") && !member.is("Gemm")) || !member.has(2) || !is_float(member.in(2).type())) return;
  const auto left = dequantized(member.node().inputs[0], flagged, context),
             right = dequantized(member.node().inputs[1], flagged, context);
  if (!left || !right || left->scales.size() != 1) return;
  const auto bias = member.in(2).to_doubles();
  if (right->scales.size() != 1 && right->scales.size() != bias.size()) return;
  for (const int bits : {32, 16}) {
    const double least = -std::ldexp(1, bits - 1), largest = -least - 1;
    for (const Limit& limit : kLimits) {
      std::vector<double> kept = bias;
      bool leaves = false;
      for (size_t i = 0; i < kept.size(); ++i) {
        const double step = left->scales[0] * right->scales[right->scales.size() == 1 ? 0 : i];
        if (!(step > 0)) continue;
        const double code = std::nearbyint(bias[i] / step);
        kept[i] = step * limit.of(code, least, largest);
        leaves = leaves || code < least || code > largest;
      }
      if (!leaves) continue;
      proposals.push_back(
          {FailureClass(28),
           fmt::format("its bias leaves int{} in steps of both scales, and {}", bits, limit.what),
           [&member, kept] { return member.with_input(2, like(member.in(2), kept)); }});
    }
  }
}

// One number for each channel that its results are off by: a bias in too coarse steps, say.
void propose_bias(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                  std::vector<Proposal>& proposals) {
  const bool conv = member.is("Conv");
  if ((!conv && !member.is("Gemm")) || !member.has(2) || member.out().rank() < 2) return;
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || !dequantized(member.node().inputs[0], flagged, context)) return;
  constexpr double kFitted = 0.1;
  proposals.push_back({FailureClass(28),
                       "its bias is another one, as integers in too coarse steps make it",
                       [&member, &made = *made] {
                         auto values = member.out().to_doubles();
                         const auto actual = made.to_doubles();
                         const Dims& dims = member.out().dims();
                         const size_t axis = member.is("Conv") ? 1 : dims.size() - 1;
                         size_t inner = 1;
                         for (size_t i = axis + 1; i < dims.size(); ++i)
                           inner *= static_cast<size_t>(dims[i]);
                         const auto channels = static_cast<size_t>(dims[axis]);
                         std::vector<double> offsets(channels, 0);
                         const double each =
                             static_cast<double>(values.size()) / static_cast<double>(channels);
                         for (size_t i = 0; i < values.size(); ++i)
                           offsets[i / inner % channels] += (actual[i] - values[i]) / each;
                         for (size_t i = 0; i < values.size(); ++i)
                           values[i] += offsets[i / inner % channels];
                         return Tensors{like(member.out(), values)};
                       },
                       {},
                       kFitted});
}

}  // namespace

void propose_quantized_parameters(const Member& member, const FlaggedNode& flagged,
                                  const HypothesisContext& context, std::vector<Proposal>& proposals) {
  for (const QuantizedOperand& operand : quantized_operands(member.node())) {
    if (operand.scale) propose_scales(member, *operand.scale, proposals);
    if (operand.zero_point) propose_zero_point(member, *operand.zero_point, proposals);
    if (operand.tensor && member.has(*operand.tensor)) propose_sign(member, *operand.tensor, proposals);
  }
  const auto factors = factors_of(member.node());
  if (!factors || !member.has(factors->second) || !is_float(member.in(factors->second).type())) return;
  propose_weight_scales(member, factors->second, flagged, context, proposals);
  propose_border(member, flagged, context, proposals);
  propose_integer_bias(member, flagged, context, proposals);
  propose_bias(member, flagged, context, proposals);
}

}  // namespace vernier
