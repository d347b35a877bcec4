#include <cmath>

#include "vernier/diagnose/hazards/quantization_hazards.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

double largest_of(const HealedRuns::Ranges& ranges, const Value* value) {
  if (value == nullptr) return 0;
  if (value->is_constant()) {
    double largest = 0;
    for (const double element : value->constant->to_doubles()) largest = std::max(largest, std::abs(element));
    return largest;
  }
  const auto found = ranges.find(value);
  return found == ranges.end() ? 0 : std::max(found->second.second, -found->second.first);
}

bool moves(const Node& node) {
  static const std::set<std::string, std::less<>> ops{"Reshape",   "Transpose", "Flatten", "Squeeze",
                                                      "Unsqueeze", "Identity",  "Cast"};
  return ops.contains(node.op);
}

// The node that has computed what is quantized, behind those that only move it.
const Node* origin_of(const QuantizationSite& site) {
  const Node* node = site.quantize->inputs[0]->producer();
  while (node != nullptr && moves(*node) && node->input(0) != nullptr) node = node->inputs[0]->producer();
  return node;
}

// By how much the ranges of the values that a node reads differ.
double spread_of(const Node& node, const HealedRuns::Ranges& ranges) {
  double smallest = HUGE_VAL, largest = 0;
  for (const Value* input : node.inputs) {
    const double reach = largest_of(ranges, input);
    if (reach <= 0) continue;
    smallest = std::min(smallest, reach);
    largest = std::max(largest, reach);
  }
  return largest > 0 ? largest / smallest : 1;
}

bool is_residual(const Node& node) {
  const auto computed = [](const Value* value) { return value != nullptr && !value->is_constant(); };
  return node.op == "Add" && computed(node.input(0)) && computed(node.input(1));
}

// The Add of a residual that reads what a site is taken back to.
const Node* residual_behind(const QuantizationSite& site) {
  for (const Node* back : site.dequantize) {
    for (const auto& node : back->graph().nodes()) {
      if (is_residual(*node) && std::count(node->inputs.begin(), node->inputs.end(), back->output(0)) > 0)
        return node.get();
    }
  }
  return nullptr;
}

// The largest of each index of an axis of the weights.
std::vector<double> largest_along(const Tensor& weights, size_t axis) {
  const auto values = weights.to_doubles();
  const auto count = static_cast<size_t>(weights.dims()[axis]);
  size_t inner = 1;
  for (size_t i = axis + 1; i < weights.dims().size(); ++i) inner *= static_cast<size_t>(weights.dims()[i]);
  std::vector<double> reach(count, 0);
  for (size_t i = 0; i < values.size(); ++i)
    reach[i / inner % count] = std::max(reach[i / inner % count], std::abs(values[i]));
  return reach;
}

// The axis of output channels, where the node that multiplies by the weights tells it.
std::optional<size_t> channel_axis(const QuantizationSite& site) {
  for (const Node* back : site.dequantize) {
    for (const auto& node : back->graph().nodes()) {
      const Value* weights = ops::operand(*node, ops::Role::kWeight);
      if (weights == nullptr || weights != back->output(0)) continue;
      if (const auto axis = ops::output_channel_axis(*node, site.quantize->inputs[0]->constant->rank()))
        return static_cast<size_t>(*axis);
    }
  }
  return std::nullopt;
}

double channel_spread(const QuantizationSite& site) {
  const Tensor& weights = *site.quantize->inputs[0]->constant;
  if (weights.rank() < 2 || weights.size() == 0) return 1;
  const auto known = channel_axis(site);
  double widest = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (known && axis != *known) continue;
    auto reach = largest_along(weights, axis);
    std::erase(reach, 0);  // dead channels need no scale
    if (reach.size() < 2) continue;
    const auto [least, most] = std::minmax_element(reach.begin(), reach.end());
    widest = std::max(widest, *most / *least);
  }
  return widest;
}

// Whether positive and negative values share a scale that only one of them needs.
bool is_one_sided(const QuantizationSite& site, const ScaleUse& use) {
  constexpr double kTail = 0.15, kBesideZero = 0.5;
  const double up = use.most, down = -use.least;
  if (site.lowest >= 0 || site.zero_points[0] != 0) return false;
  if (std::min(up, down) > kTail * std::max(up, down)) return false;
  const Node* origin = origin_of(site);
  if (down == 0 && (origin == nullptr || origin->op == "Relu" || origin->op == "Clip")) return false;
  return use.beside_zero > kBesideZero * use.count;
}

constexpr double kNothing = 1e-3;  // of the values: a range of silence

// A scale for each channel, which is not that of its weights.
std::optional<SiteCause> cause_of_channel_scales(const QuantizationSite& site) {
  const Tensor& weights = *site.quantize->inputs[0]->constant;
  if (site.axis >= weights.dims().size() || weights.size() == 0) return std::nullopt;
  const auto largest = largest_along(weights, site.axis);
  if (largest.size() != site.scales.size()) return std::nullopt;
  constexpr double kClips = 0.5, kWastes = 8;
  size_t off = 0;
  for (size_t i = 0; i < largest.size(); ++i) {
    if (largest[i] == 0) continue;
    const double fit = site.scales[i] * site.highest / largest[i];
    if (fit < kNothing)
      return SiteCause{
          FailureClass(23),
          fmt::format("the scale of channel {} reaches {:.2g} of its weights: it is that of silence", i,
                      fit)};
    if (fit < kClips || fit > kWastes) ++off;
  }
  if (off == 0) return std::nullopt;
  return SiteCause{FailureClass(24), fmt::format("the scales of {} of {} channels do not suit their weights",
                                                 off, largest.size())};
}

std::optional<SiteCause> cause_of_weights(const QuantizationSite& site) {
  if (site.scales.size() > 1) return cause_of_channel_scales(site);
  constexpr double kUneven = 32;
  const double spread = channel_spread(site);
  if (spread > kUneven)
    return SiteCause{FailureClass(24),
                     fmt::format("one scale for channels whose ranges differ {:.3g} times", spread)};
  return std::nullopt;
}

constexpr double kFarOff = 8;  // times: far more than methods of calibration differ by

bool is_far_off(const QuantizationSite& site) {
  if (!site.has_one_scale()) return false;
  const double fit = site.fit(site.use());
  return fit > kFarOff || fit < 1 / kFarOff;
}

// Both branches of a residual, or what a residual has made.
std::optional<SiteCause> cause_of_residual(const QuantizationSite& site, const HealedRuns& runs) {
  constexpr double kUnequal = 16;
  const Node *origin = origin_of(site), *behind = residual_behind(site);
  for (const Node* add : {origin, behind}) {
    if (add == nullptr || !is_residual(*add)) continue;
    const double spread = spread_of(*add, runs.ranges());
    if (spread > kUnequal)
      return SiteCause{
          FailureClass(27),
          fmt::format("the branches of '{}' have ranges that differ {:.3g} times", add->name, spread)};
  }
  if (origin != nullptr && origin->op == "DequantizeLinear")
    return SiteCause{FailureClass(27), "what is quantized already is quantized again, with another scale"};
  if (behind == nullptr || !is_far_off(site)) return std::nullopt;
  for (const QuantizationSite& other : runs.sites()) {
    if (&other != &site && is_far_off(other) && residual_behind(other) == behind)
      return SiteCause{FailureClass(27), fmt::format("neither scale suits its branch of '{}'", behind->name)};
  }
  return std::nullopt;
}

std::optional<SiteCause> cause_of_range(const QuantizationSite& site, const ScaleUse& use) {
  const double fit = site.fit(use);
  constexpr double kMuchClipped = 0.02;  // of the energy
  if (fit > kFarOff)
    return SiteCause{FailureClass(20),
                     fmt::format("the scale is made for values {:.3g} times as large", fit)};
  const double share = use.count > 0 ? use.clipped / use.count : 0;
  // Peaks are cut off by a method of calibration, and what is typical only by one that has not seen it. An
  // input may be meant for one sign, and get both from whoever has only noise to give.
  constexpr double kTypical = 0.3, kOfInput = 0.5;
  if (use.lost_by_clipping > kMuchClipped * use.energy && share > (site.is_input() ? kOfInput : kTypical))
    return SiteCause{
        FailureClass(19),
        fmt::format("{:.3g} % of the values are beyond what the scale is made for", 100 * share)};
  if (use.lost_by_clipping > kMuchClipped * use.energy)
    return SiteCause{
        FailureClass(20),
        fmt::format("the largest {:.3g} % of the values are clipped, with {:.3g} % of the energy",
                    100 * use.clipped / use.count, 100 * use.lost_by_clipping / use.energy)};
  return std::nullopt;
}

}  // namespace

std::optional<SiteCause> cause_at(const QuantizationSite& site, const HealedRuns& runs) {
  if (site.is_broken()) return SiteCause{FailureClass(23), "a scale is zero, negative, NaN or infinite"};
  if (site.is_weight) return cause_of_weights(site);
  if (!site.has_one_scale()) return std::nullopt;
  const ScaleUse use = site.use();
  if (site.fit(use) < kNothing)
    return SiteCause{
        FailureClass(23),
        fmt::format("the scale reaches {:.2g} of the values: it is that of silence", site.fit(use))};
  if (auto cause = cause_of_residual(site, runs)) return cause;
  if (auto cause = cause_of_range(site, use)) return cause;
  constexpr double kUnequal = 32;
  const Node* origin = origin_of(site);
  if (origin != nullptr && origin->op == "Concat" && spread_of(*origin, runs.ranges()) > kUnequal)
    return SiteCause{FailureClass(26), fmt::format("what '{}' joins has ranges that differ {:.3g} times",
                                                   origin->name, spread_of(*origin, runs.ranges()))};
  if (is_one_sided(site, use))
    return SiteCause{
        FailureClass(25),
        fmt::format("values from {:.3g} to {:.3g} share a symmetric scale, and {:.3g} % of them are "
                    "within two steps of zero",
                    use.least, use.most, 100 * use.beside_zero / use.count)};
  return std::nullopt;
}

std::optional<SiteCause> cause_of_misfit(const QuantizationSite& site) {
  constexpr double kNoticed = 1.25;
  if (!site.has_one_scale()) return std::nullopt;
  const ScaleUse use = site.use();
  const double fit = site.fit(use);
  if (use.clipped > 0 && fit < 1 / kNoticed)
    return SiteCause{FailureClass(20), fmt::format("the scale ends at {:.3g} of the largest value", fit)};
  if (fit > kNoticed)
    return SiteCause{FailureClass(20),
                     fmt::format("the scale is made for values {:.3g} times as large", fit)};
  return std::nullopt;
}

bool is_of_join(const QuantizationSite& site) {
  const Node* origin = origin_of(site);
  if (origin != nullptr && origin->op == "Concat") return true;
  std::vector<const Node*> readers = site.dequantize;
  for (size_t i = 0; i < readers.size(); ++i) {
    for (const auto& node : readers[i]->graph().nodes()) {
      if (std::count(node->inputs.begin(), node->inputs.end(), readers[i]->output(0)) == 0) continue;
      if (node->op == "Split" || node->op == "Slice") return true;
      if (moves(*node)) readers.push_back(node.get());
    }
  }
  return false;
}

}  // namespace vernier
