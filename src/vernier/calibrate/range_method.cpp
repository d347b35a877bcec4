#include "vernier/calibrate/range_method.h"

#include <algorithm>
#include <array>

#include "vernier/calibrate/range_loss.h"

namespace vernier {

namespace {

constexpr std::array<std::pair<RangeMethod, std::string_view>, 4> kMethods = {
    {{RangeMethod::kMinMax, "minmax"},
     {RangeMethod::kEntropy, "entropy"},
     {RangeMethod::kPercentile, "percentile"},
     {RangeMethod::kMse, "mse"}}};

// The bound of a magnitude, or of one sign's, below which a share of all values lies.
double quantile(const Bins& ascending, uint64_t below, double share, uint64_t count) {
  const double wanted = share * static_cast<double>(count);
  auto seen = static_cast<double>(below);
  double bound = 0;
  for (const RangeHistogram::Bin& bin : ascending) {
    if (seen >= wanted) break;
    seen += static_cast<double>(bin.count);
    bound = bin.to;
  }
  return bound;
}

// Magnitudes of all bins, of negative ones, or of positive ones, ascending.
Bins magnitudes(const Bins& bins, bool negative, bool positive) {
  Bins result;
  for (const auto& bin : bins) {
    if (bin.to <= 0 && negative) result.push_back({-bin.to, -bin.from, bin.count});
    if (bin.from >= 0 && positive) result.push_back(bin);
  }
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  return result;
}

RangeEnds percentile_range(const RangeHistogram& histogram, const RangeChoice& choice) {
  const double share = choice.percentile / 100;
  const auto bins = histogram.bins();
  const RangeEnds all{histogram.low(), histogram.high()};
  if (!choice.asymmetric || choice.float8 || all.low == 0) {
    const double bound = quantile(magnitudes(bins, true, true), histogram.zeros(), share, histogram.count());
    return {std::max(all.low, -bound), std::min(all.high, bound)};
  }
  // Half of what is clipped at each end.
  const double kept = 1 - (1 - share) / 2;
  const auto negative = magnitudes(bins, true, false), positive = magnitudes(bins, false, true);
  uint64_t negatives = 0, positives = 0;
  for (const auto& bin : negative) negatives += bin.count;
  for (const auto& bin : positive) positives += bin.count;
  const double low = quantile(negative, positives + histogram.zeros(), kept, histogram.count());
  const double high = quantile(positive, negatives + histogram.zeros(), kept, histogram.count());
  return {std::max(all.low, -low), std::min(all.high, high)};
}

}  // namespace

std::string_view range_method_name(RangeMethod method) {
  for (const auto& [each, name] : kMethods) {
    if (each == method) return name;
  }
  throw internal_error("range method {} has no name", static_cast<int>(method));
}

RangeMethod parse_range_method(std::string_view name) {
  for (const auto& [method, known] : kMethods) {
    if (name == known) return method;
  }
  throw usage_error("'{}' is no method to choose ranges by", name)
      .advise("there are minmax, entropy, percentile and mse");
}

ScaleEntry choose_range(const RangeHistogram& histogram, const RangeChoice& choice) {
  const RangeEnds all{histogram.low(), histogram.high()};
  const bool asymmetric = choice.asymmetric && all.low != 0 && !choice.float8;
  const ScaleOfRange scale_of = choice.float8 ? float8_scale_of_range
                                : asymmetric  ? asymmetric_scale_of_range
                                              : scale_of_range;
  switch (choice.method) {
    case RangeMethod::kMinMax: break;
    case RangeMethod::kPercentile: {
      const RangeEnds range = percentile_range(histogram, choice);
      // Where nearly all is zero, the values that are not are what the tensor is about.
      if (range.low == 0 && range.high == 0) break;
      return scale_of(range.low, range.high);
    }
    case RangeMethod::kEntropy:
      return best_scale(all, asymmetric, scale_of, [bins = histogram.bins()](const ScaleEntry& entry) {
        return code_divergence(bins, entry);
      });
    case RangeMethod::kMse:
      return best_scale(all, asymmetric, scale_of, [bins = histogram.bins()](const ScaleEntry& entry) {
        return square_error(bins, entry);
      });
  }
  return scale_of(all.low, all.high);
}

}  // namespace vernier
