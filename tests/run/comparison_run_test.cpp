#include "vernier/run/comparison_run.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

constexpr float kNoise = 5e-3F;

Tensor floats(int64_t elements, float value) {
  return Tensor::from_doubles(ElementType::kFloat, {elements},
                              std::vector<double>(static_cast<size_t>(elements), value));
}

// Yields `value` for y; under noise a little more, in one run of `period`.
class Constant : public Runner {
 public:
  Constant(std::string name, int64_t elements, float value, int period)
      : name_(std::move(name)), elements_(elements), value_(value), period_(period) {}
  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData&, const std::vector<std::string>&) override { return trace(value_); }
  std::optional<Trace> run_with_noise(const NamedData&, const std::vector<std::string>&, uint64_t) override {
    return trace(++noise_runs_ % period_ == 0 ? value_ + kNoise : value_);
  }
  int noise_runs() const { return noise_runs_; }

 private:
  Trace trace(float value) const {
    TraceEntry entry;
    entry.value = "y";
    entry.datum = floats(elements_, value);
    entry.is_output = true;
    entry.declared = ElementType::kFloat;
    Trace trace;
    trace.runner = trace.run_id = name_;
    trace.entries.push_back(std::move(entry));
    return trace;
  }

  std::string name_;
  int64_t elements_;
  float value_;
  int period_, noise_runs_ = 0;
};

class OneSample : public DataSource {
 public:
  std::optional<Sample> next() override {
    if (std::exchange(given_, true)) return std::nullopt;
    return Sample{"one", {{"x", floats(1, 1)}}, {}, {}};
  }

 private:
  bool given_ = false;
};

class BrokenByNoise : public Constant {
 public:
  using Constant::Constant;
  std::optional<Trace> run_with_noise(const NamedData&, const std::vector<std::string>&, uint64_t) override {
    throw bad_input("the model breaks");
  }
};

struct Judged {
  Verdict verdict;
  int noise_runs;
};

// An engine that is `off` from a reference whose noise shows in one run of `period`.
Judged judge(int64_t elements, float off, int period) {
  Constant reference("reference", elements, 1, period), engine("engine", elements, 1 + off, period);
  ComparisonJob job;
  job.runners = {&reference, &engine};
  job.compare.constant_values = {"y"};
  OneSample sample;
  const auto outcome = run_and_compare(job, sample);
  return {outcome.comparisons.at(0).verdict, reference.noise_runs()};
}

TEST(NoiseRuns, AreManyForFewElements) {
  EXPECT_EQ(judge(1, 1, 1).noise_runs, 32);
  EXPECT_EQ(judge(8, 1, 1).noise_runs, 16);
  EXPECT_EQ(judge(1000, 1, 1).noise_runs, 4);
}

TEST(NoiseRuns, EndWithTheFirstThatExplainsTheDifference) {
  const Judged rare = judge(1, kNoise, 20), often = judge(1000, kNoise, 2), equal = judge(1, 0, 1);
  EXPECT_EQ(rare.verdict, Verdict::kPass);
  EXPECT_EQ(rare.noise_runs, 20);
  EXPECT_EQ(often.verdict, Verdict::kPass);
  EXPECT_EQ(often.noise_runs, 2);
  EXPECT_EQ(equal.noise_runs, 0);
}

TEST(NoiseRuns, DoNotExplainWhatNoiseDoesNotReach) {
  EXPECT_EQ(judge(1, 0.1F, 1).verdict, Verdict::kFail);
  EXPECT_EQ(judge(1, kNoise, 1000).verdict, Verdict::kFail);  // noise that no run shows
}

TEST(NoiseRuns, WhatBreaksUnderNoiseFailsAndSaysSo) {
  BrokenByNoise reference("reference", 8, 1, 1);
  Constant engine("engine", 8, 1 + kNoise, 1);
  ComparisonJob job;
  job.runners = {&reference, &engine};
  OneSample sample;
  const auto result = run_and_compare(job, sample).comparisons.at(0);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("the model breaks"), std::string::npos);
}

}  // namespace
}  // namespace vernier
