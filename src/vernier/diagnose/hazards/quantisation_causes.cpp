#include "vernier/diagnose/hazards/quantisation_causes.h"

#include <cmath>

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// The lower one of two in the middle.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One scale for a tensor that nodes compute, with something in it.
bool has_one_scale(const QuantisationSite& site) {
  return !site.is_weight && site.scales.size() == 1 && !site.is_broken() && !site.uses.empty() &&
         site.use().largest() > 0;
}

double mean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]) / static_cast<double>(a.size());
  return sum;
}

// What a scale should hold: all of the values, or these and their mirror image.
double extent(const QuantisationSite& site, const ScaleUse& use) {
  const bool symmetric = site.lowest < 0 && site.zero_points[0] == 0;
  return symmetric ? 2 * use.largest() : use.most - use.least;
}

// Logarithms of what scales hold and of what they should hold, site by site.
struct Reaches {
  std::vector<double> scales, values;
};

Reaches reaches_of(const std::vector<QuantisationSite>& sites, std::optional<size_t> sample = std::nullopt) {
  Reaches found;
  for (const QuantisationSite& site : sites) {
    if (!has_one_scale(site) || (sample && *sample >= site.uses.size())) continue;
    const ScaleUse use = sample ? site.uses[*sample] : site.use();
    if (use.largest() <= 0) continue;
    found.scales.push_back(std::log(site.scales[0] * (site.highest - site.lowest)));
    found.values.push_back(std::log(extent(site, use)));
  }
  return found;
}

// The scales fit, but other values than their own.
bool are_permuted(Reaches reaches) {
  constexpr double kOff = 0.5, kMeanOff = 0.2, kFitsOthers = 0.4;
  if (reaches.scales.size() < 3) return false;
  const double off = mean_distance(reaches.scales, reaches.values);
  bool clips = false, wastes = false;
  for (size_t i = 0; i < reaches.scales.size(); ++i) {
    clips = clips || reaches.scales[i] < reaches.values[i] - kOff;
    wastes = wastes || reaches.scales[i] > reaches.values[i] + kOff;
  }
  std::sort(reaches.scales.begin(), reaches.scales.end());
  std::sort(reaches.values.begin(), reaches.values.end());
  return clips && wastes && off > kMeanOff &&
         mean_distance(reaches.scales, reaches.values) < kFitsOthers * off;
}

double typical_misfit(const Reaches& reaches) {
  std::vector<double> misfits;
  for (size_t i = 0; i < reaches.scales.size(); ++i)
    misfits.push_back(std::abs(reaches.scales[i] - reaches.values[i]));
  return median(misfits);
}

// The sample whose values the scales fit, and hardly those of the others.
std::optional<size_t> fitting_sample(const std::vector<QuantisationSite>& sites, size_t samples) {
  constexpr double kFits = 0.12;
  for (size_t sample = 0; sample < samples && samples > 1; ++sample) {
    if (typical_misfit(reaches_of(sites, sample)) < kFits) return sample;
  }
  return std::nullopt;
}

// --- one site ---

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

// The node that has computed what is quantised, behind those that only move it.
const Node* origin_of(const QuantisationSite& site) {
  const Node* node = site.quantise->inputs[0]->producer();
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
const Node* residual_behind(const QuantisationSite& site) {
  for (const Node* back : site.dequantise) {
    for (const auto& node : back->graph().nodes()) {
      if (is_residual(*node) && std::count(node->inputs.begin(), node->inputs.end(), back->output(0)) > 0)
        return node.get();
    }
  }
  return nullptr;
}

double channel_spread(const QuantisationSite& site) {
  const Tensor& weights = *site.quantise->inputs[0]->constant;
  if (weights.rank() < 2) return 1;
  double widest = 1;
  const auto values = weights.to_doubles();
  size_t inner = values.size();
  for (size_t axis = 0; axis < std::min<size_t>(2, weights.dims().size()); ++axis) {
    const auto count = static_cast<size_t>(weights.dims()[axis]);
    if (count == 0) return 1;
    inner /= count;
    std::vector<double> reach(count, 0);
    for (size_t i = 0; i < values.size(); ++i)
      reach[i / inner % count] = std::max(reach[i / inner % count], std::abs(values[i]));
    std::erase(reach, 0);  // dead channels need no scale
    if (reach.size() < 2) continue;
    const auto [least, most] = std::minmax_element(reach.begin(), reach.end());
    widest = std::max(widest, *most / *least);
  }
  return widest;
}

// Whether positive and negative values share a scale that only one of them needs.
bool is_one_sided(const QuantisationSite& site, const ScaleUse& use) {
  constexpr double kTail = 0.15, kBesideZero = 0.5;
  const double up = use.most, down = -use.least;
  if (site.lowest >= 0 || site.zero_points[0] != 0) return false;
  if (std::min(up, down) > kTail * std::max(up, down)) return false;
  const Node* origin = origin_of(site);
  if (down == 0 && (origin == nullptr || origin->op == "Relu" || origin->op == "Clip")) return false;
  return use.beside_zero > kBesideZero * use.count;
}

std::optional<SiteCause> cause_of_weights(const QuantisationSite& site) {
  constexpr double kUneven = 32;
  const double spread = site.scales.size() == 1 ? channel_spread(site) : 1;
  if (spread > kUneven)
    return SiteCause{FailureClass(24),
                     fmt::format("one scale for channels whose ranges differ {:.3g} times", spread)};
  return std::nullopt;
}

constexpr double kFarOff = 8;  // times: far more than methods of calibration differ by

bool is_far_off(const QuantisationSite& site) {
  if (!has_one_scale(site)) return false;
  const double fit = site.fit(site.use());
  return fit > kFarOff || fit < 1 / kFarOff;
}

// Both branches of a residual, or what a residual has made.
std::optional<SiteCause> cause_of_residual(const QuantisationSite& site, const HealedRuns& runs,
                                           const std::vector<QuantisationSite>& sites) {
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
    return SiteCause{FailureClass(27), "what is quantised already is quantised again, with another scale"};
  if (behind == nullptr || !is_far_off(site)) return std::nullopt;
  for (const QuantisationSite& other : sites) {
    if (&other != &site && is_far_off(other) && residual_behind(other) == behind)
      return SiteCause{FailureClass(27), fmt::format("neither scale suits its branch of '{}'", behind->name)};
  }
  return std::nullopt;
}

std::optional<SiteCause> cause_of_range(const QuantisationSite& site, const ScaleUse& use) {
  const double fit = site.fit(use);
  constexpr double kMuchClipped = 0.02;  // of the energy
  if (fit > kFarOff)
    return SiteCause{FailureClass(20),
                     fmt::format("the scale is made for values {:.3g} times as large", fit)};
  const double share = use.count > 0 ? use.clipped / use.count : 0;
  const Value& value = *site.quantise->inputs[0];
  const auto& inputs = value.graph().inputs;
  const bool is_input = std::find(inputs.begin(), inputs.end(), &value) != inputs.end();
  // Peaks are cut off by a method of calibration, and what is typical only by one that has not seen it. An
  // input may be meant for one sign, and get both from whoever has only noise to give.
  constexpr double kTypical = 0.3, kOfInput = 0.5;
  if (use.lost_by_clipping > kMuchClipped * use.energy && share > (is_input ? kOfInput : kTypical))
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

std::optional<SiteCause> shared_cause(const std::vector<QuantisationSite>& sites, size_t samples) {
  const Reaches all = reaches_of(sites);
  if (are_permuted(all))
    return SiteCause{FailureClass(22), "the scales fit other values of the model better than their own"};
  constexpr double kOff = 0.25, kFarTooLarge = 4;
  if (all.scales.size() < 2) return std::nullopt;
  if (typical_misfit(all) > kOff) {
    if (const auto sample = fitting_sample(sites, samples))
      return SiteCause{FailureClass(21),
                       fmt::format("the scales fit sample {} alone, and not all that they meet", *sample)};
  }
  std::vector<double> ratios, clipped;
  for (const QuantisationSite& site : sites) {
    if (!has_one_scale(site)) continue;
    const ScaleUse use = site.use();
    ratios.push_back(site.fit(use));
    clipped.push_back(use.lost_by_clipping / use.energy);
  }
  // Some values beyond the range are the choice of many a calibration.
  constexpr double kMuchClipped = 0.05;  // of the energy
  if (median(clipped) < kMuchClipped && median(ratios) < kFarTooLarge) return std::nullopt;
  return SiteCause{
      FailureClass(19),
      fmt::format("the scales are made for data with {:.3g} times the range, and clip {:.3g} % of "
                  "the energy at the place in the middle",
                  median(ratios), 100 * median(clipped))};
}

std::optional<SiteCause> cause_at(const QuantisationSite& site, const HealedRuns& runs,
                                  const std::vector<QuantisationSite>& sites) {
  if (site.is_broken()) return SiteCause{FailureClass(23), "a scale is zero, negative, NaN or infinite"};
  if (site.is_weight) return cause_of_weights(site);
  if (!has_one_scale(site)) return std::nullopt;
  const ScaleUse use = site.use();
  constexpr double kNothing = 1e-3;
  if (site.fit(use) < kNothing)
    return SiteCause{
        FailureClass(23),
        fmt::format("the scale reaches {:.2g} of the values: it is that of silence", site.fit(use))};
  if (auto cause = cause_of_residual(site, runs, sites)) return cause;
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

}  // namespace vernier
