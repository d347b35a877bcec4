#pragma once

#include "vernier/data/data_source.h"
#include "vernier/diagnose/experiments/stopwatch.h"

namespace vernier {

// Gives the samples on, and keeps the first ones: as many as are wanted, and as there is time for.
class KeptSamples : public DataSource {
 public:
  // The source and the watch outlive this.
  KeptSamples(DataSource& source, size_t most, const Stopwatch& watch)
      : source_(source), most_(most), watch_(watch) {}

  std::optional<Sample> next() override {
    constexpr double kPartOfBudget = 0.4;
    if (kept_.size() == most_ || (!kept_.empty() && watch_.is_past(kPartOfBudget))) return std::nullopt;
    auto sample = source_.next();
    if (sample) kept_.push_back(*sample);
    return sample;
  }
  bool withdraw(const Error& why) override {
    if (!source_.withdraw(why)) return false;
    kept_.pop_back();
    return true;
  }
  const std::vector<Sample>& kept() const { return kept_; }
  // Gives the inputs of another sample of the same sizes: nothing of a run on them is right for a run on this
  // one. Where there is none, its own in another order.
  NamedData other_inputs(size_t sample) const;
  // Gives the inputs of the others, and at last of the sample itself.
  std::vector<NamedData> beside(size_t sample) const;

 private:
  DataSource& source_;
  size_t most_;
  const Stopwatch& watch_;
  std::vector<Sample> kept_;
};

}  // namespace vernier
