#include "vernier/ops/support/resampling/grid_sampler.h"

namespace vernier::ops {

namespace {

GridPadding padding_of(const std::string& name) {
  if (name == "zeros") return GridPadding::kZeros;
  if (name == "border") return GridPadding::kBorder;
  if (name == "reflection") return GridPadding::kReflection;
  throw bad_input("padding_mode is '{}'", name);
}

// Moves a position into [low, high] by reflection at both ends.
double reflect(double position, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = std::fmod(std::abs(position - low), 2 * range);
  return low + (distance <= range ? distance : 2 * range - distance);
}

}  // namespace

GridRule GridRule::of(const Node& node) {
  return {interpolation_of(node.attribute<std::string>("mode", "linear")),
          padding_of(node.attribute<std::string>("padding_mode", "zeros")),
          node.attribute<int64_t>("align_corners", 0) != 0};
}

double GridSampler::Axis::position(double coordinate) const {
  const auto length = static_cast<double>(size);
  double at = rule.align_corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
  // Farther out nothing changes, and positions have to fit into integers.
  at = std::clamp(at, -0x1p40, 0x1p40);
  if (rule.interpolation == Interpolation::kNearest) at = std::nearbyint(at);
  if (at >= low() && at <= high()) return at;
  if (rule.padding == GridPadding::kBorder) return std::clamp(at, 0.0, length - 1);
  return rule.padding == GridPadding::kReflection ? reflect(at, low(), high()) : at;
}

void GridSampler::Axis::add(std::vector<GridTap>& taps, double at, double weight) const {
  if (rule.padding == GridPadding::kBorder) at = std::clamp(at, 0.0, static_cast<double>(size - 1));
  if (rule.padding == GridPadding::kReflection && (at < low() || at > high()))
    at = std::trunc(reflect(at, low(), high()));
  if (at >= 0 && at < static_cast<double>(size)) taps.push_back({static_cast<int64_t>(at), weight});
}

void GridSampler::Axis::sample(double coordinate, std::vector<GridTap>& taps) const {
  taps.clear();
  const double at = position(coordinate), base = std::floor(at), rest = at - base;
  if (rule.interpolation == Interpolation::kNearest) return add(taps, at, 1);
  if (rule.interpolation == Interpolation::kLinear) {
    add(taps, base, 1 - rest);
    return add(taps, base + 1, rest);
  }
  constexpr double kA = -0.75;
  const auto far = [](double d) { return ((d - 5) * d + 8) * kA * d - 4 * kA; };
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  add(taps, base - 1, far(1 + rest));
  add(taps, base, near(rest));
  add(taps, base + 1, near(1 - rest));
  add(taps, base + 2, far(2 - rest));
}

GridSampler::GridSampler(const Dims& x, const GridRule& rule) {
  for (size_t i = 2; i < x.size(); ++i) axes_.push_back({x[i], rule});
}

bool GridSampler::sample(const double* coordinates) {
  taps_.assign(1, {0, 1});
  for (size_t i = 0; i < axes_.size(); ++i) {
    const double coordinate = coordinates[axes_.size() - 1 - i];
    if (std::isnan(coordinate)) return false;
    axes_[i].sample(coordinate, along_);
    wider_.clear();
    for (const GridTap& tap : taps_) {
      for (const GridTap& next : along_)
        wider_.push_back({tap.index * axes_[i].size + next.index, tap.weight * next.weight});
    }
    std::swap(taps_, wider_);
  }
  return true;
}

}  // namespace vernier::ops
