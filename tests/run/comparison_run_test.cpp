#include "vernier/run/comparison_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "vernier/ir/text.h"

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

// How often bounds are asked for, and the verdict, of an engine that is off by so much.
std::pair<int, Verdict> judge_by_bound(float off, double bound, const char* atol = "") {
  Constant reference("reference", 1000, 1, 1000), engine("engine", 1000, 1 + off, 1000);
  ComparisonJob job;
  job.runners = {&reference, &engine};
  job.compare.constant_values = {"y"};
  if (*atol != 0) job.compare.tolerances.atol.parse(atol);
  int asked = 0;
  job.derive_bounds = [&](Runner& runner, const NamedData&, const std::set<std::string>& inner_values) {
    EXPECT_TRUE(inner_values.empty());
    EXPECT_EQ(&runner, &engine);
    ++asked;
    return std::map<std::string, DerivedBound>{{"y", {bound, bound, "bf16", ""}}};
  };
  OneSample sample;
  const Verdict verdict = run_and_compare(job, sample).comparisons.at(0).verdict;
  return {asked, verdict};
}

TEST(DerivedBounds, AreAskedForWhereNothingElseExplainsADifference) {
  EXPECT_EQ(judge_by_bound(0, 0.2), std::pair(0, Verdict::kPass));
  EXPECT_EQ(judge_by_bound(0.1F, 0.2), std::pair(1, Verdict::kPass));
  EXPECT_EQ(judge_by_bound(0.3F, 0.2), std::pair(1, Verdict::kFail));
  EXPECT_EQ(judge_by_bound(0.1F, 0.2, "1e-3"), std::pair(0, Verdict::kFail));
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

// A model that decides, run by hand: %a is moved by noise, and %y is what was decided of it.
class Decider : public Runner {
 public:
  using Decide = std::vector<double> (*)(const std::vector<double>&);
  Decider(std::string name, std::vector<double> a, Decide decide, ElementType type)
      : name_(std::move(name)), a_(std::move(a)), decide_(decide), type_(type) {}
  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData&, const std::vector<std::string>&) override { return trace(a_, {}); }
  std::optional<Trace> run_with_noise(const NamedData&, const std::vector<std::string>&, uint64_t) override {
    std::vector<double> moved = a_;
    for (double& value : moved) value += kNudge;
    return trace(moved, {});
  }
  std::optional<Trace> run_with_values(const NamedData&, const std::vector<std::string>&,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override {
    std::vector<double> moved = a_;
    for (double& value : moved) value += noise_seed ? kNudge : 0;
    return trace(moved, values);
  }

  static constexpr double kNudge = 1e-6;

 private:
  void add(Trace& trace, const char* value, ElementType type, const std::vector<double>& content) const {
    TraceEntry entry;
    entry.value = value;
    entry.datum = Tensor::from_doubles(type, {std::ssize(content)}, content);
    entry.is_output = entry.value == "y";
    entry.declared = type;
    trace.entries.push_back(std::move(entry));
  }
  Trace trace(const std::vector<double>& a, const NamedData& values) const {
    Trace result;
    result.runner = result.run_id = name_;
    const auto given = values.find("y");
    add(result, "a", ElementType::kFloat, a);
    add(result, "y", type_, given == values.end() ? decide_(a) : given->second.tensor.to_doubles());
    return result;
  }

  std::string name_;
  std::vector<double> a_;
  Decide decide_;
  ElementType type_;
};

ComparisonResult decided(const std::string& decision, ElementType type, const std::vector<double>& a,
                         Decider::Decide wanted, Decider::Decide got) {
  const Model model = parse_model(R"(model ir=10 opset "" 24 {
    graph "g" (%x: f32[2]) -> (%y) {
    const %s = f32[] hex"0000003f"
    %a: f32[2] = Relu(%x) version 14 @"relu" from ["relu"]
    )" + decision + " @\"decision\" from [\"decision\"]\n}\n}");
  Decider reference("reference", a, wanted, type), engine("engine", a, got, type);
  ComparisonJob job;
  job.runners = {&reference, &engine};
  job.model = &model;
  job.taps = {"a"};
  OneSample sample;
  return run_and_compare(job, sample).comparisons.at(0);
}

std::vector<double> floors(const std::vector<double>& a) {
  return {std::floor(a[0]), std::floor(a[1])};
}

// Noise turns the first decision over, which would make the value ill-conditioned; the second is wrong.
TEST(Decisions, ThatDifferClearlyFailWhateverNoiseTurnsOver) {
  const std::vector<double> a{2.9999998, 5.5};
  const std::string floor = "%y: f32[2] = Floor(%a) version 13";
  const auto result =
      decided(floor, ElementType::kFloat, a, floors, [](const std::vector<double>& x) -> std::vector<double> {
        return {std::floor(x[0]), std::floor(x[1]) + 1};
      });
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(decided(floor, ElementType::kFloat, a, floors, floors).verdict, Verdict::kPass);
}

std::vector<double> half_of(const std::vector<double>& a) {
  return {std::nearbyint(a[0] / 0.5), std::nearbyint(a[1] / 0.5)};
}

TEST(Decisions, OfQuantizedOutputsMayBeTies) {
  const std::string quantize = "%y: u8[2] = QuantizeLinear(%a, %s) version 13";
  const std::vector<double> a{0.7500001, 5};
  const auto tie = decided(quantize, ElementType::kUint8, a, half_of, [](const std::vector<double>& x) {
    return std::vector<double>{1, std::nearbyint(x[1] / 0.5)};
  });
  EXPECT_EQ(tie.verdict, Verdict::kPass);
  ASSERT_EQ(tie.tensors.back().decisions.size(), 1U);
  EXPECT_EQ(tie.tensors.back().decisions[0].node, "decision");
  EXPECT_GT(tie.tensors.back().decisions[0].margin, 0);
  // Another element that is no tie, or a tie taken two steps off.
  for (const Decider::Decide wrong : {+[](const std::vector<double>&) {
                                        return std::vector<double>{1, 11};
                                      },
                                      +[](const std::vector<double>&) {
                                        return std::vector<double>{3, 10};
                                      }})
    EXPECT_EQ(decided(quantize, ElementType::kUint8, a, half_of, wrong).verdict, Verdict::kFail);
}

}  // namespace
}  // namespace vernier
