#include "vernier/diagnose/hazards/quantisation_cures.h"

#include <algorithm>
#include <cmath>

namespace vernier {

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

  double round(double value, const QuantisationSite& site) const {
    const double code = std::nearbyint(value / scale) + zero_point;
    return (std::clamp(code, site.lowest, site.highest) - zero_point) * scale;
  }
};

Fit fit_of(const QuantisationSite& site, double least, double most) {
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
Fit best_fit(const QuantisationSite& site, const std::vector<double>& values) {
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

Tensor cured(const QuantisationSite& site, const Tensor& reals, const Cure& cure) {
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
