// Probes that show hazards of data at single nodes: B5, B7, B12, B20.
#include <algorithm>
#include <cmath>

#include "vernier/check/probe.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The smallest magnitude that engines are sure to keep: they may flush subnormal FP32 and BF16, but not FP16.
double smallest_kept(ElementType type) {
  return type == ElementType::kFloat16                                   ? kHalfMin
         : type == ElementType::kFloat || type == ElementType::kBFloat16 ? 0x1p-126
                                                                         : 0;
}

// B5: what a narrow type flushes to zero before something divides by it.
class DenominatorProbe : public Probe {
 public:
  DenominatorProbe(const Node& node, ElementType type) : node_(node), type_(type) {}

  void add(const Dims&, std::span<const double> values) override {
    for (const double value : values) {
      const double magnitude = std::abs(value);
      if (magnitude == 0 || !(magnitude < smallest_kept(type_))) continue;
      ++flushed_;
      smallest_ = std::min(smallest_, magnitude);
    }
    elements_ += static_cast<int64_t>(values.size());
  }

  void conclude(std::vector<Finding>& findings) const override {
    if (flushed_ == 0) return;
    findings.push_back(
        {.rule = "B5-denominator-underflow",
         .severity = Severity::kWarning,
         .effect = 0.8,
         .node = node_.name,
         .message = fmt::format("{} reads {} of {} elements that are zero in {}, down to {:.3g}", node_.op,
                                flushed_, elements_, precision_name(type_), smallest_),
         .remedy = "raise the epsilon that guards it, or keep the node in a wider type"});
  }

 private:
  const Node& node_;
  ElementType type_;
  int64_t flushed_ = 0, elements_ = 0;
  double smallest_ = kInfinity;
};

// B7: half a step of the type at the largest score of a row is a factor exp(step / 2) of a probability, which
// matters unless one score stands far above all others.
class SoftmaxProbe : public Probe {
 public:
  SoftmaxProbe(const Node& node, ElementType type) : node_(node), type_(type) {}

  void add(const Dims& dims, std::span<const double> values) override {
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = ops::softmax_axis(node_);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return;
    // Before opset 13 all axes from `axis` on are one.
    const auto last = ops::softmax_flattens(node_) ? rank : axis + 1;
    int64_t count = 1, inner = 1;
    for (int64_t i = axis; i < rank; ++i) (i < last ? count : inner) *= dims[static_cast<size_t>(i)];
    for (int64_t row = 0; row < static_cast<int64_t>(values.size()) / count; ++row)
      add_row(values.subspan(static_cast<size_t>(row / inner * count * inner + row % inner)), count, inner);
  }

  void conclude(std::vector<Finding>& findings) const override {
    constexpr double kNoticed = 1.0 / 32;
    if (worst_ < kNoticed) return;
    findings.push_back(
        {.rule = "B7-large-scores",
         .severity = Severity::kWarning,
         .effect = std::min(1.0, worst_),
         .node = node_.name,
         .message = fmt::format("a row of scores reaches {:.4g}, where the step of {} is {:.3g}: rounding "
                                "alone changes probabilities by {:.2g} of their value",
                                score_, precision_name(type_), 2 * half_step(score_), std::expm1(worst_)),
         .remedy = "compute the scores in a wider type, and subtract their maximum before narrowing"});
  }

 private:
  double half_step(double score) const {
    return std::exp2(std::floor(std::log2(std::abs(score))) - significant_bits(type_));
  }

  void add_row(std::span<const double> values, int64_t count, int64_t stride) {
    constexpr double kMasked = -1e4;
    double largest = -kInfinity, sum = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, values[static_cast<size_t>(i * stride)]);
    if (!std::isfinite(largest) || largest < kMasked || largest == 0) return;
    for (int64_t i = 0; i < count; ++i) sum += std::exp(values[static_cast<size_t>(i * stride)] - largest);
    const double change = half_step(largest) * (1 - 1 / sum);
    if (!(change > worst_)) return;
    worst_ = change;
    score_ = largest;
  }

  const Node& node_;
  ElementType type_;
  double worst_ = 0, score_ = 0;
};

// B12: rows whose mean is so large beside their spread that the digits of the type are spent on the mean.
class NormalisationProbe : public Probe {
 public:
  NormalisationProbe(const Node& node, ElementType type) : node_(node), type_(type) {}

  void add(const Dims& dims, std::span<const double> values) override {
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = node_.op == "InstanceNormalization" ? 2 : ops::integer_attribute(node_, "axis");
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return;
    size_t count = 1;
    for (int64_t i = axis; i < rank; ++i) count *= static_cast<size_t>(dims[static_cast<size_t>(i)]);
    for (size_t row = 0; count > 1 && row < values.size(); row += count) add_row(values.subspan(row, count));
  }

  void conclude(std::vector<Finding>& findings) const override {
    const int bits = significant_bits(type_);
    if (worst_ <= std::exp2(bits / 2.0)) return;
    findings.push_back(
        {.rule = "B12-large-mean",
         .severity = Severity::kWarning,
         .effect = 0.5,
         .node = node_.name,
         .message =
             fmt::format("a row has a mean of {:.3g} standard deviations; {} keeps {:.0f} of {} binary "
                         "digits of the deviations, and none where the variance is E[x^2] - E[x]^2",
                         worst_, precision_name(type_), std::max(0.0, bits - std::log2(worst_)), bits),
         .remedy = "subtract a typical mean before the node, or keep what feeds it in a wider type"});
  }

 private:
  void add_row(std::span<const double> row) {
    double mean = 0, variance = 0;
    for (const double value : row) mean += value / static_cast<double>(row.size());
    for (const double value : row)
      variance += (value - mean) * (value - mean) / static_cast<double>(row.size());
    const double spread = std::sqrt(variance),
                 resolution = std::abs(mean) * std::exp2(-significant_bits(type_));
    // A constant row, padding as a rule, has only rounding for its spread.
    if (std::isfinite(spread) && spread > resolution) worst_ = std::max(worst_, std::abs(mean) / spread);
  }

  const Node& node_;
  ElementType type_;
  double worst_ = 0;
};

// The range of codes that QuantizeLinear has.
std::optional<std::pair<double, double>> code_range(ElementType type) {
  if (is_integer(type))
    return std::pair(static_cast<double>(integer_min(type)), static_cast<double>(integer_max(type)));
  switch (type) {
    case ElementType::kFloat8E4M3FN: return std::pair(-448.0, 448.0);
    case ElementType::kFloat8E4M3FNUZ: return std::pair(-240.0, 240.0);
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ: return std::pair(-57344.0, 57344.0);
    case ElementType::kFloat4E2M1: return std::pair(-6.0, 6.0);
    default: return std::nullopt;
  }
}

// B20: scales that cut off what matters, or that leave most codes without use.
class QuantizationProbe : public Probe {
 public:
  // Values beyond [low, high] are cut off.
  QuantizationProbe(const Node& node, double low, double high) : node_(node), low_(low), high_(high) {}

  void add(const Dims&, std::span<const double> values) override {
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      const double lost = value - std::clamp(value, low_, high_);
      cut_ += lost != 0 ? 1 : 0;
      lost_ += lost * lost;
      energy_ += value * value;
      smallest_ = std::min(smallest_, value), largest_ = std::max(largest_, value);
    }
    elements_ += static_cast<int64_t>(values.size());
  }

  void conclude(std::vector<Finding>& findings) const override {
    constexpr double kNoticed = 0.01, kUsed = 1.0 / 16;
    if (energy_ == 0) return;
    const double used = std::max(largest_ > 0 && high_ > 0 ? largest_ / high_ : 0,
                                 smallest_ < 0 && low_ < 0 ? smallest_ / low_ : 0);
    if (lost_ > kNoticed * energy_) {
      findings.push_back(
          {.rule = "B20-saturation",
           .severity = Severity::kWarning,
           .effect = std::min(1.0, std::sqrt(lost_ / energy_)),
           .node = node_.name,
           .message = fmt::format("the data range over [{:.4g}, {:.4g}], the codes over [{:.4g}, {:.4g}]: "
                                  "{:.2g} % of the elements saturate, which costs {:.2g} % of the energy",
                                  smallest_, largest_, low_, high_,
                                  100.0 * static_cast<double>(cut_) / static_cast<double>(elements_),
                                  100 * lost_ / energy_),
           .remedy = "calibrate again with data like these, or with a wider range for this tensor"});
    } else if (used < kUsed) {
      findings.push_back({.rule = "B20-coarse-scale",
                          .severity = Severity::kNote,
                          .effect = 0.2,
                          .node = node_.name,
                          .message = fmt::format(
                              "the data use {:.2g} of the range of the codes: {:.1f} bits are without use",
                              used, -std::log2(used)),
                          .remedy = "calibrate again, unless other data use the rest"});
    }
  }

 private:
  const Node& node_;
  double low_, high_, lost_ = 0, energy_ = 0, smallest_ = kInfinity, largest_ = -kInfinity;
  int64_t cut_ = 0, elements_ = 0;
};

}  // namespace

void add_denominator_probe(const CheckContext& context, const Node& node, InputProbes& probes) {
  const bool divides = node.op == "Div" || node.op == "Reciprocal" || node.op == "Log";
  const Value* denominator = node.input(node.op == "Div" ? 1 : 0);
  if (!divides || denominator == nullptr || smallest_kept(context.type(denominator)) == 0) return;
  probes.emplace_back(denominator, std::make_unique<DenominatorProbe>(node, context.type(denominator)));
}

void add_softmax_probe(const CheckContext& context, const Node& node, InputProbes& probes) {
  if ((node.op != "Softmax" && node.op != "LogSoftmax") || !node.domain.empty()) return;
  probes.emplace_back(node.input(0), std::make_unique<SoftmaxProbe>(node, context.type(node.input(0))));
}

void add_normalisation_probe(const CheckContext& context, const Node& node, InputProbes& probes) {
  if (node.op != "LayerNormalization" && node.op != "InstanceNormalization") return;
  probes.emplace_back(node.input(0), std::make_unique<NormalisationProbe>(node, context.type(node.input(0))));
}

void add_quantization_probe(const CheckContext& context, const Node& node, InputProbes& probes) {
  if (node.op != "QuantizeLinear" || node.output(0) == nullptr) return;
  const auto scale = context.scalar(node.input(1));
  const auto zero = node.input(2) == nullptr ? std::optional(0.0) : context.scalar(node.input(2));
  const auto codes = code_range(context.type(node.output(0)));
  if (!scale || !(*scale > 0) || !zero || !codes) return;
  // Where zero is the lowest code, cutting off what is negative is a ReLU and meant.
  const double low = *zero == codes->first ? -kInfinity : (codes->first - *zero - 0.5) * *scale;
  probes.emplace_back(node.input(0),
                      std::make_unique<QuantizationProbe>(node, low, (codes->second - *zero + 0.5) * *scale));
}

}  // namespace vernier
