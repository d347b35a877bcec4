#include "vernier/diagnose/hazards/calibrations.h"

#include <cmath>
#include <random>

namespace vernier {

namespace {

// The lower one of two in the middle.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]) / static_cast<double>(a.size());
  return sum;
}

// Gives what a scale should hold: all of the values, or these and their mirror image.
double extent(const QuantizationSite& site, double least, double most) {
  const bool symmetric = site.lowest < 0 && site.zero_points[0] == 0;
  return symmetric ? 2 * std::max(most, -least) : most - least;
}

// Logarithms of what the scales hold, or of what they should; NaN where there is nothing.
using Extents = std::vector<double>;

class Calibrations {
 public:
  explicit Calibrations(const CalibrationJob& job) : job_(job) {
    for (const QuantizationSite& site : job.runs.sites()) {
      samples_ = std::max(samples_, site.uses.size());
      if (!site.has_one_scale()) continue;
      sites_.push_back(&site);
      scales_.push_back(std::log(site.scales[0] * (site.highest - site.lowest)));
    }
    own_ = extents([](const QuantizationSite& site) { return site.use(); });
    off_ = misfit(own_);
  }

  std::optional<SiteCause> cause() {
    constexpr double kFits = 0.1;  // of a logarithm: what methods differ by
    if (sites_.size() < 2 || off_ < kFits) return std::nullopt;
    try_other_places();
    try_samples();
    try_averages();
    try_input_maps();
    if (found_) return found_;
    if (are_permuted())
      return SiteCause{FailureClass(22), "the scales fit other values of the model better than their own"};
    if (auto cause = cut_peaks()) return cause;
    return unlike_data();
  }

 private:
  template <class Use>
  Extents extents(const Use& use_of_site) const {
    Extents found;
    for (const QuantizationSite* site : sites_) {
      const ScaleUse use = use_of_site(*site);
      found.push_back(use.largest() > 0 ? std::log(extent(*site, use.least, use.most)) : std::nan(""));
    }
    return found;
  }

  double misfit_at(const Extents& expected, size_t site) const {
    constexpr double kMost = 3;  // what is farther off says no more
    return std::isnan(expected[site]) ? 0 : std::min(kMost, std::abs(expected[site] - scales_[site]));
  }

  // The mean over the sites.
  double misfit(const Extents& expected) const {
    double sum = 0;
    for (size_t i = 0; i < expected.size(); ++i) sum += misfit_at(expected, i);
    return sum / static_cast<double>(std::max<size_t>(1, expected.size()));
  }

  // Other inputs must be seen where the inputs themselves are quantized.
  bool fits_at_inputs(const Extents& expected) const {
    constexpr double kFits = 0.2;
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (sites_[i]->is_input() && misfit_at(expected, i) > kFits) return false;
    }
    return true;
  }

  // A calibration is found if it makes the scales, which what suits the values does not by far.
  void offer(int failure, const Extents& expected, const std::string& what) {
    constexpr size_t kMany = 3;
    constexpr double kFits = 0.15, kFitsFew = 0.03, kOfOwn = 0.4, kClearly = 0.02;  // of a logarithm
    const double left = misfit(expected);
    if (left > std::min(sites_.size() < kMany ? kFitsFew : kFits, kOfOwn * off_) || left + kClearly >= best_)
      return;
    if (failure == 19 && !fits_at_inputs(expected)) return;
    best_ = left;
    found_ = SiteCause{FailureClass(failure), what};
  }

  bool are_permuted() const {
    constexpr double kOff = 0.5, kMeanOff = 0.2, kFitsOthers = 0.4;
    if (scales_.size() < 3) return false;
    Extents scales = scales_, values = own_;
    const double off = mean_distance(scales, values);
    bool clips = false, wastes = false;
    for (size_t i = 0; i < scales.size(); ++i) {
      clips = clips || scales[i] < values[i] - kOff;
      wastes = wastes || scales[i] > values[i] + kOff;
    }
    std::sort(scales.begin(), scales.end());
    std::sort(values.begin(), values.end());
    return clips && wastes && off > kMeanOff && mean_distance(scales, values) < kFitsOthers * off;
  }

  // A table that goes by the place in the graph, of a graph with more or fewer places.
  void try_other_places() {
    constexpr size_t kFarthest = 4;
    const size_t count = sites_.size();
    for (size_t by = 1; by <= std::min(kFarthest, count / 3); ++by) {
      Extents before(count), after(count);
      for (size_t i = 0; i < count; ++i) {
        before[i] = i < by ? own_[0] : own_[i - by];
        after[i] = i + by < count ? own_[i + by] : own_[count - 1];
      }
      offer(22, before, fmt::format("the scales fit the values {} places before their own", by));
      offer(22, after, fmt::format("the scales fit the values {} places behind their own", by));
    }
  }

  void try_samples() {
    for (size_t sample = 0; sample < samples_ && samples_ > 1; ++sample)
      offer(21, extents([&](const QuantizationSite& site) { return site.uses.at(sample); }),
            fmt::format("the scales fit sample {} alone, and not all that they meet", sample));
  }

  // An average over batches is less than what any may be, and one that forgets depends on their order.
  void try_averages() {
    if (samples_ < 2) return;
    for (const double keep : {0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}) {
      offer(
          21, extents([&](const QuantizationSite& site) {
            ScaleUse average = site.uses[0];
            for (const ScaleUse& use : site.uses) {
              average.least = keep * average.least + (1 - keep) * use.least;
              average.most = keep * average.most + (1 - keep) * use.most;
            }
            return average;
          }),
          fmt::format("the scales fit an average over the samples that keeps {} of those before, and not all "
                      "that they meet",
                      keep));
    }
    offer(21, extents([&](const QuantizationSite& site) {
            ScaleUse average;
            for (const ScaleUse& use : site.uses) {
              average.least += use.least / static_cast<double>(site.uses.size());
              average.most += use.most / static_cast<double>(site.uses.size());
            }
            return average;
          }),
          "the scales fit the mean of the samples' ranges, and not all that they meet");
  }

  // No method takes so many for peaks, at any place.
  bool clips_typical_values() const {
    constexpr double kTypical = 0.3;
    return std::any_of(sites_.begin(), sites_.end(), [](const QuantizationSite* site) {
      const ScaleUse use = site->use();
      return use.clipped > kTypical * use.count;
    });
  }

  // The same few of the values are cut off everywhere, by a method that takes them for outliers.
  std::optional<SiteCause> cut_peaks() const {
    constexpr double kAlike = 0.7, kMost = 0.1;
    if (clips_typical_values()) return std::nullopt;
    std::vector<double> shares, apart;
    for (const QuantizationSite* site : sites_) {
      const ScaleUse use = site->use();
      shares.push_back(use.clipped / use.elements);
    }
    const double middle = median(shares);
    if (middle <= 0 || middle > kMost) return std::nullopt;
    for (const double share : shares) apart.push_back(std::abs(std::log(std::max(share, 1e-9) / middle)));
    if (median(apart) > kAlike) return std::nullopt;
    return SiteCause{
        FailureClass(20),
        fmt::format("the largest values are clipped everywhere, {:.3g} % at the place in the middle",
                    100 * middle)};
  }

  // The ranges with other inputs than those at hand.
  template <class Change>
  void try_inputs(const std::string& what, const Change& change) {
    std::vector<ScaleUse> uses(job_.runs.sites().size());
    for (size_t i = 0; i < samples_; ++i) {
      if (job_.is_late()) return;
      NamedData inputs = job_.samples[i];
      for (auto& [name, datum] : inputs) {
        if (!datum.is_tensor() || !is_float(datum.tensor.type())) continue;
        auto values = datum.tensor.to_doubles();
        change(values);
        datum.tensor = Tensor::from_doubles(datum.tensor.type(), datum.tensor.dims(), values);
      }
      const auto seen = job_.runs.observe(inputs).uses;
      for (size_t k = 0; k < uses.size(); ++k) uses[k].add(seen[k]);
    }
    const QuantizationSite* first = job_.runs.sites().data();
    offer(19, extents([&](const QuantizationSite& site) { return uses[static_cast<size_t>(&site - first)]; }),
          fmt::format("the scales are those of inputs that are {}", what));
  }

  void try_input_maps() {
    try_reach_of_input();
    for (const InputMap& map : input_maps()) {
      try_inputs(map.what, [&](std::vector<double>& values) {
        for (double& value : values) value = map.factor * value + map.offset;
      });
    }
    std::mt19937_64 draw(1);
    try_inputs("noise in 0 to 1", [&](std::vector<double>& values) {
      for (double& value : values) value = std::uniform_real_distribution<double>(0, 1)(draw);
    });
    try_inputs("normally distributed noise", [&](std::vector<double>& values) {
      for (double& value : values) value = std::normal_distribution<double>()(draw);
    });
  }

  // The data in the range that the scale of an input holds.
  void try_reach_of_input() {
    for (const QuantizationSite* site : sites_) {
      if (!site->is_input()) continue;
      const double low = (site->lowest - site->zero_points[0]) * site->scales[0],
                   high = (site->highest - site->zero_points[0]) * site->scales[0];
      try_inputs(fmt::format("between {:.3g} and {:.3g}", low, high), [&](std::vector<double>& values) {
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        const double from = *least, span = *most - *least;
        if (!(span > 0)) return;
        for (double& value : values) value = low + (value - from) / span * (high - low);
      });
      const double factor =
          std::exp(std::log(high - low) - std::log(extent(*site, site->use().least, site->use().most)));
      try_inputs(fmt::format("{:.3g} times as large", factor), [&](std::vector<double>& values) {
        for (double& value : values) value *= factor;
      });
    }
  }

  // Nobody knows on which, but it is far from what is met. Some values beyond the range are the choice of
  // many a calibration, and a method cuts off peaks, but not what is typical.
  std::optional<SiteCause> unlike_data() const {
    constexpr double kMuchClipped = 0.05, kFarTooLarge = 4;
    std::vector<double> ratios, energies, shares;
    for (const QuantizationSite* site : sites_) {
      const ScaleUse use = site->use();
      ratios.push_back(site->fit(use));
      energies.push_back(use.lost_by_clipping / use.energy);
      shares.push_back(use.clipped / use.count);
    }
    if (median(energies) < kMuchClipped && median(ratios) < kFarTooLarge) return std::nullopt;
    const bool peaks = median(energies) >= kMuchClipped && !clips_typical_values();
    return SiteCause{
        FailureClass(peaks ? 20 : 19),
        fmt::format("the scales are made for {:.3g} times the range, and clip {:.3g} % of the values, "
                    "with {:.3g} % of the energy, at the place in the middle",
                    median(ratios), 100 * median(shares), 100 * median(energies))};
  }

  const CalibrationJob& job_;
  size_t samples_ = 0;
  std::vector<const QuantizationSite*> sites_;
  Extents scales_, own_;
  double off_ = 0, best_ = HUGE_VAL;
  std::optional<SiteCause> found_;
};

}  // namespace

std::optional<SiteCause> shared_cause(const CalibrationJob& job) {
  return Calibrations(job).cause();
}

}  // namespace vernier
