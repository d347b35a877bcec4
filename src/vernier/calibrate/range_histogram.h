// How often which values of a tensor occur, kept while they stream by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vernier {

// Bins are intervals [i w, (i + 1) w) of magnitudes, for each sign, and w is the least power of two for which
// all magnitudes fit into kBins. When a larger value comes, neighbouring bins are merged, which is what wider
// bins would have counted. So the histogram depends on the values alone: neither on their order, nor on how
// they were split.
class RangeHistogram {
 public:
  // Each sign has so many bins; at least half of them are in use for the sign that reaches further.
  static constexpr int kBins = 8192;

  // False if a value is NaN or infinite; then nothing is counted.
  bool add(std::span<const float> values);
  void merge(const RangeHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t zeros() const { return zeros_; }
  // The least and the largest value, zero added.
  float low() const { return low_; }
  float high() const { return high_; }

  // Values in the same bin, zeros left out.
  struct Bin {
    double from, to;  // from < to
    uint64_t count;
  };
  // Gives the bins that are not empty, ascending.
  std::vector<Bin> bins() const;
  // How many values lie in [low, high], where a bin that lies in part inside counts in proportion.
  double count_within(double low, double high) const;

 private:
  void widen_to(int exponent);
  void count_values(std::span<const float> values);
  void count_few(std::span<const float> values);

  int exponent_ = 0;                           // of the width of a bin; of no meaning while all are zero
  std::vector<uint64_t> positive_, negative_;  // kBins each, or none
  uint64_t count_ = 0, zeros_ = 0;
  float low_ = 0, high_ = 0;
};

}  // namespace vernier
