#include "vernier/diagnose/hazards/quantization_sites.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

const Tensor* constant_of(const Value* value) {
  return value == nullptr || !value->is_constant() ? nullptr : &*value->constant;
}

void add_element(const QuantizationSite& site, size_t channel, double value, ScaleUse& use) {
  ++use.elements;
  if (!std::isfinite(value)) return;
  const double scale = site.scales[channel], zero_point = site.zero_points[channel];
  const double low = (site.lowest - zero_point) * scale, high = (site.highest - zero_point) * scale;
  const double code = std::nearbyint(value / scale) + zero_point;
  const double kept = (std::clamp(code, site.lowest, site.highest) - zero_point) * scale;
  const double error = std::isfinite(kept) ? (value - kept) * (value - kept) : value * value;
  use.least = std::min(use.least, value);
  use.most = std::max(use.most, value);
  use.energy += value * value;
  use.lost += error;
  if (value == 0) return;
  ++use.count;
  if (std::abs(value) <= 2 * scale) ++use.beside_zero;
  if (value >= low - scale / 2 && value <= high + scale / 2) return;
  ++use.clipped;
  use.lost_by_clipping += error;
}

}  // namespace

std::optional<QuantizationSite> site_of(const Node& node) {
  const Tensor* scale = constant_of(node.input(1));
  const Value* result = node.output(0);
  if (scale == nullptr || scale->rank() > 1 || scale->size() == 0 || result == nullptr ||
      !result->type.is_tensor() || !is_integer(result->type.tensor.element))
    return std::nullopt;
  QuantizationSite site;
  site.quantize = &node;
  site.is_weight = constant_of(node.input(0)) != nullptr;
  site.scales = scale->to_doubles();
  site.zero_points.assign(site.scales.size(), 0);
  if (node.input(2) != nullptr) {
    const Tensor* zero_point = constant_of(node.input(2));
    if (zero_point == nullptr || zero_point->size() != scale->size()) return std::nullopt;
    site.zero_points = zero_point->to_doubles();
  }
  const ops::ValueRange range = ops::value_range(result->type.tensor.element);
  site.lowest = range.low;
  site.highest = range.high;
  const int64_t axis = ops::integer_attribute(node, "axis");
  const auto& shape = node.input(0)->type.tensor.shape;
  site.axis = static_cast<size_t>(axis < 0 && shape ? axis + static_cast<int64_t>(shape->size()) : axis);
  return site;
}

ScaleUse use_of(const QuantizationSite& site, const Tensor& tensor) {
  ScaleUse use;
  const auto values = tensor.to_doubles();
  const size_t count = site.scales.size();
  size_t inner = 1;
  if (count > 1) {
    if (site.axis >= tensor.dims().size() || tensor.dims()[site.axis] != static_cast<int64_t>(count))
      return use;
    for (size_t i = site.axis + 1; i < tensor.dims().size(); ++i)
      inner *= static_cast<size_t>(tensor.dims()[i]);
  }
  for (size_t i = 0; i < values.size(); ++i) add_element(site, i / inner % count, values[i], use);
  return use;
}

void ScaleUse::add(const ScaleUse& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  elements += other.elements;
  count += other.count;
  clipped += other.clipped;
  beside_zero += other.beside_zero;
  energy += other.energy;
  lost += other.lost;
  lost_by_clipping += other.lost_by_clipping;
}

ScaleUse QuantizationSite::use() const {
  ScaleUse all;
  for (const ScaleUse& each : uses) all.add(each);
  return all;
}

bool QuantizationSite::is_broken() const {
  return std::any_of(scales.begin(), scales.end(),
                     [](double scale) { return !std::isfinite(scale) || scale <= 0; });
}

bool QuantizationSite::is_input() const {
  const Value& value = *quantize->inputs[0];
  const auto& inputs = value.graph().inputs;
  return std::find(inputs.begin(), inputs.end(), &value) != inputs.end();
}

bool QuantizationSite::has_one_scale() const {
  return !is_weight && scales.size() == 1 && !is_broken() && !uses.empty() && use().largest() > 0;
}

double QuantizationSite::reach(const ScaleUse& use) const {
  const bool up = use.most >= -use.least;
  return scales[0] * (up ? highest - zero_points[0] : zero_points[0] - lowest);
}

double QuantizationSite::fit(const ScaleUse& use) const {
  return use.largest() > 0 ? reach(use) / use.largest() : 1;
}

std::vector<std::string> QuantizationSite::onnx_nodes() const {
  auto nodes = onnx_nodes_of(*quantize);
  for (const Node* each : dequantize) {
    const auto more = onnx_nodes_of(*each);
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  return nodes;
}

namespace {

// Elements that share a scale.
struct Channels {
  size_t count = 1, inner = 1;
  size_t of(size_t element) const { return element / inner % count; }
};

Channels along(const Dims& dims, size_t axis) {
  Channels channels;
  if (axis >= dims.size() || dims[axis] <= 0) return channels;
  channels.count = static_cast<size_t>(dims[axis]);
  for (size_t i = axis + 1; i < dims.size(); ++i) channels.inner *= static_cast<size_t>(dims[i]);
  return channels;
}

struct Fit {
  double scale = 1, zero_point = 0;

  double round(double value, const QuantizationSite& site) const {
    const double code = std::nearbyint(value / scale) + zero_point;
    return (std::clamp(code, site.lowest, site.highest) - zero_point) * scale;
  }
};

Fit fit_of(const QuantizationSite& site, double least, double most) {
  Fit fit;
  const bool symmetric = site.lowest < 0 && std::all_of(site.zero_points.begin(), site.zero_points.end(),
                                                        [](double each) { return each == 0; });
  fit.scale =
      symmetric ? std::max(most, -least) / site.highest : (most - least) / (site.highest - site.lowest);
  if (!(fit.scale > 0)) return {};
  if (!symmetric) fit.zero_point = std::nearbyint(site.lowest - least / fit.scale);
  return fit;
}

// All of the range, or so little of it that clipping the rest costs less.
Fit best_fit(const QuantizationSite& site, const std::vector<double>& values) {
  double least = 0, most = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  constexpr double kSmallest = 1.0 / 64, kClearly = 0.5;
  Fit best;
  double lost = HUGE_VAL;
  for (double part = 1; part >= kSmallest; part /= 2) {
    const Fit fit = fit_of(site, part * least, part * most);
    double sum = 0;
    for (const double value : values) {
      if (std::isfinite(value)) sum += std::pow(value - fit.round(value, site), 2);
    }
    if (sum >= kClearly * lost) continue;
    lost = sum;
    best = fit;
  }
  return best;
}

}  // namespace

Tensor cured(const QuantizationSite& site, const Tensor& reals, const Cure& cure) {
  if (cure.kind == Cure::Kind::kIdentity) return reals;
  const bool split = cure.kind == Cure::Kind::kPerIndex || site.scales.size() > 1;
  const size_t axis = cure.kind == Cure::Kind::kPerIndex ? cure.axis : site.axis;
  const Channels channels = split ? along(reals.dims(), axis) : Channels();
  auto values = reals.to_doubles();
  std::vector<std::vector<double>> parts(channels.count);
  for (size_t i = 0; i < values.size(); ++i) parts[channels.of(i)].push_back(values[i]);
  std::vector<Fit> fits;
  fits.reserve(parts.size());
  for (const auto& part : parts) fits.push_back(best_fit(site, part));
  for (size_t i = 0; i < values.size(); ++i) values[i] = fits[channels.of(i)].round(values[i], site);
  return Tensor::from_doubles(reals.type(), reals.dims(), values);
}

}  // namespace vernier
