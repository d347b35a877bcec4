#include "vernier/calibrate/range_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

#include "vernier/base/threads.h"

namespace vernier {

namespace {

constexpr int kBinBits = 13;
static_assert(RangeHistogram::kBins == 1 << kBinBits);
// Values that a piece of parallel work counts by itself, many times the bins that it adds to the others then.
constexpr int64_t kPiece = int64_t{1} << 18;
constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000;

// The extremes of floats, zero added, by their bits: floats of one sign are ordered as their bits are.
struct Extremes {
  uint32_t positive = 0, negative = 0;  // the largest magnitudes

  void add(std::span<const float> values) {
    int32_t highest = 0;
    uint32_t lowest = 0;
    for (const float value : values) {
      const auto bits = std::bit_cast<uint32_t>(value);
      highest = std::max(highest, static_cast<int32_t>(bits));
      lowest = std::max(lowest, bits);
    }
    positive = std::max(positive, static_cast<uint32_t>(highest));
    if (lowest > kSign) negative = std::max(negative, lowest - kSign);
  }
  bool finite() const { return positive < kInfinity && negative < kInfinity; }
  float high() const { return std::bit_cast<float>(positive); }
  float low() const { return negative == 0 ? 0 : -std::bit_cast<float>(negative); }
};

Extremes extremes_of(std::span<const float> values) {
  Extremes all;
  std::mutex mutex;
  parallel_for(static_cast<int64_t>(values.size()), kPiece, [&](int64_t begin, int64_t end) {
    Extremes some;
    some.add(values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    const std::lock_guard lock(mutex);
    all.positive = std::max(all.positive, some.positive);
    all.negative = std::max(all.negative, some.negative);
  });
  return all;
}

// The least exponent of a width for which the magnitude is in the last of kBins, or before.
int exponent_for(float magnitude) {
  return std::ilogb(static_cast<double>(magnitude)) - (kBinBits - 1);
}

// Counts by sign and bin: negative ones from kBins on. Zeros are counted with the first bin.
void count_into(std::span<const float> values, int exponent, std::vector<uint32_t>& counts) {
  const double per_width = std::ldexp(1.0, -exponent);
  for (const float value : values) {
    const auto bin = static_cast<uint32_t>(static_cast<double>(std::abs(value)) * per_width);
    ++counts[bin + (value < 0 ? uint32_t{RangeHistogram::kBins} : 0)];
  }
}

}  // namespace

bool RangeHistogram::add(std::span<const float> values) {
  const Extremes found = extremes_of(values);
  if (!found.finite()) return false;
  count_ += values.size();
  low_ = std::min(low_, found.low());
  high_ = std::max(high_, found.high());
  const float magnitude = std::max(found.high(), -found.low());
  if (magnitude == 0) {
    zeros_ += values.size();
    return true;
  }
  widen_to(exponent_for(magnitude));
  if (found.negative != 0 && negative_.empty()) negative_.resize(kBins);
  count_values(values);
  return true;
}

void RangeHistogram::count_values(std::span<const float> values) {
  if (values.size() < kBins) return count_few(values);
  std::mutex mutex;
  parallel_for(static_cast<int64_t>(values.size()), kPiece, [&](int64_t begin, int64_t end) {
    const auto piece = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    std::vector<uint32_t> counts(2 * kBins);
    count_into(piece, exponent_, counts);
    const auto zeros = static_cast<uint32_t>(std::count(piece.begin(), piece.end(), 0.0F));
    counts[0] -= zeros;
    const std::lock_guard lock(mutex);
    zeros_ += zeros;
    for (size_t i = 0; i < positive_.size(); ++i) positive_[i] += counts[i];
    for (size_t i = 0; i < negative_.size(); ++i) negative_[i] += counts[kBins + i];
  });
}

// Without counters to begin with zeros and to be added up.
void RangeHistogram::count_few(std::span<const float> values) {
  const double per_width = std::ldexp(1.0, -exponent_);
  for (const float value : values) {
    const auto bin = static_cast<size_t>(static_cast<double>(std::abs(value)) * per_width);
    if (value == 0)
      ++zeros_;
    else
      ++(value < 0 ? negative_ : positive_)[bin];
  }
}

void RangeHistogram::widen_to(int exponent) {
  if (positive_.empty()) {
    positive_.resize(kBins);
    exponent_ = exponent;
    return;
  }
  const int by = exponent - exponent_;
  if (by <= 0) return;
  for (auto* bins : {&positive_, &negative_}) {
    // Bin 0 stays where it is; every other goes to one before it that has been moved on already.
    for (size_t i = 1; i < bins->size(); ++i) {
      const size_t to = by > kBinBits ? 0 : i >> by;
      const uint64_t count = std::exchange((*bins)[i], 0);
      (*bins)[to] += count;
    }
  }
  exponent_ = exponent;
}

void RangeHistogram::merge(const RangeHistogram& other) {
  count_ += other.count_;
  zeros_ += other.zeros_;
  low_ = std::min(low_, other.low_);
  high_ = std::max(high_, other.high_);
  if (other.positive_.empty()) return;
  RangeHistogram theirs = other;
  widen_to(theirs.exponent_);
  theirs.widen_to(exponent_);
  if (!theirs.negative_.empty() && negative_.empty()) negative_.resize(kBins);
  for (size_t i = 0; i < theirs.positive_.size(); ++i) positive_[i] += theirs.positive_[i];
  for (size_t i = 0; i < theirs.negative_.size(); ++i) negative_[i] += theirs.negative_[i];
}

std::vector<RangeHistogram::Bin> RangeHistogram::bins() const {
  std::vector<Bin> result;
  const auto edge = [&](size_t i) { return std::ldexp(static_cast<double>(i), exponent_); };
  for (size_t i = negative_.size(); i-- > 0;) {
    if (negative_[i] > 0) result.push_back({-edge(i + 1), -edge(i), negative_[i]});
  }
  for (size_t i = 0; i < positive_.size(); ++i) {
    if (positive_[i] > 0) result.push_back({edge(i), edge(i + 1), positive_[i]});
  }
  return result;
}

double RangeHistogram::count_within(double low, double high) const {
  double inside = low <= 0 && high >= 0 ? static_cast<double>(zeros_) : 0;
  for (const Bin& bin : bins()) {
    // The outermost bins hold no values beyond the extremes.
    const double first = std::max(bin.from, static_cast<double>(low_)),
                 last = std::min(bin.to, static_cast<double>(high_));
    const double from = std::max(low, first), to = std::min(high, last);
    const bool whole = first >= low && last <= high;
    const double share = whole ? 1 : from < to ? (to - from) / (last - first) : 0;
    inside += share * static_cast<double>(bin.count);
  }
  return inside;
}

}  // namespace vernier
