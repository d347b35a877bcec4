// Control flow: what goes wrong inside of a region is shown without it, where it can be.
#include "fake_oracle.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/reduce/reduce.h"

namespace vernier {
namespace {

Tensor flag(bool value) {
  return Tensor::from<bool>(ElementType::kBool, {}, {value});
}

Reduction reduced(const ReproCase& whole, FakeOracle& oracle) {
  ReduceOptions options;
  options.budget = 60;
  return reduce(whole, oracle.judge(whole), oracle, options);
}

ReproCase branches() {
  return parsed_case(R"(graph "g" (%x: f32[2, 3], %c: bool[]) -> (%y) {
    %a: f32[*] = Tanh(%x) version 13 @"before" from ["before"]
    %b: f32[*] = If(%c) version 16 @"if" from ["if"] regions {
      then_branch = graph "then" () -> (%t) {
        %t0: f32[*] = Sigmoid(%a) version 13 @"inside" from ["inside"]
        %t: f32[*] = Neg(%t0) version 13 @"neg" from ["neg"]
      }
      else_branch = graph "else" () -> (%e) {
        %e: f32[*] = Abs(%a) version 13 @"other" from ["other"]
      }
    }
    %y: f32[*] = Tanh(%b) version 13 @"behind" from ["behind"]
  })",
                     {{"x", drawn({2, 3})}, {"c", flag(true)}});
}

TEST(ReduceRegions, ANodeOfABranchIsShownAlone) {
  FakeOracle oracle([](const ReproCase& each) { return has_node(each, "inside"); });
  const Reduction reduction = reduced(branches(), oracle);
  EXPECT_EQ(reduction.after.nodes, 1U);
  EXPECT_EQ(count_of(reduction.result, "If"), 0U);
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

TEST(ReduceRegions, ABranchIsInlinedWhereWhatIsAroundIsNeeded) {
  FakeOracle oracle(
      [](const ReproCase& each) { return has_node(each, "inside") && has_node(each, "behind"); });
  const Reduction reduction = reduced(branches(), oracle);
  EXPECT_EQ(reduction.after.nodes, 2U);
  EXPECT_EQ(count_of(reduction.result, "If"), 0U);
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

TEST(ReduceRegions, TheNodeItselfStaysWhereItIsWrong) {
  FakeOracle oracle([](const ReproCase& each) { return count_of(each, "If") == 1; });
  const Reduction reduction = reduced(branches(), oracle);
  EXPECT_EQ(count_of(reduction.result, "If"), 1U);
  EXPECT_LE(reduction.after.nodes, 3U);  // with one node in each branch
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

ReproCase loop() {
  return parsed_case(R"(graph "g" (%x: f32[2, 3], %m: i64[], %c: bool[]) -> (%y, %s) {
    %y: f32[*], %s: f32[*] = Loop(%m, %c, %x) version 16 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %k: bool[], %v: f32[2, 3]) -> (%k1, %w, %o) {
        %k1: bool[] = Identity(%k) version 16 @"goes_on" from ["goes_on"]
        %t: f32[*] = Tanh(%v) version 13 @"tanh" from ["tanh"]
        %w: f32[*] = Sigmoid(%t) version 13 @"inside" from ["inside"]
        %o: f32[*] = Neg(%w) version 13 @"neg" from ["neg"]
      }
    }
  })",
                     {{"x", drawn({2, 3})}, {"m", Tensor::scalar(12)}, {"c", flag(true)}});
}

TEST(ReduceRegions, ANodeOfABodyIsShownAlone) {
  FakeOracle oracle([](const ReproCase& each) { return has_node(each, "inside"); });
  const Reduction reduction = reduced(loop(), oracle);
  EXPECT_EQ(reduction.after.nodes, 1U);
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

// Only what the second trip reads shows it.
TEST(ReduceRegions, ATripOtherThanTheFirstIsTried) {
  const ReproCase whole = loop();
  std::vector<double> first;
  for (const double value : whole.inputs.at("x").tensor.to_doubles()) first.push_back(value);
  FakeOracle oracle([&](const ReproCase& each) {
    if (count_of(each, "Loop") == 1) return has_node(each, "inside");
    const auto read = each.inputs.find("v");
    return has_node(each, "tanh") && read != each.inputs.end() && read->second.tensor.size() == 6 &&
           read->second.tensor.to_doubles() != first && read->second.tensor.to_doubles()[0] > 0.4;
  });
  const Reduction reduction = reduced(whole, oracle);
  EXPECT_EQ(count_of(reduction.result, "Loop"), 0U);
}

TEST(ReduceRegions, ALoopThatIsNeededHasFewTripsAndNodes) {
  FakeOracle oracle([](const ReproCase& each) {
    return count_of(each, "Loop") == 1 && has_node(each, "inside") && each.inputs.contains("m") &&
           each.inputs.at("m").tensor.to_ints()[0] >= 2;
  });
  const Reduction reduction = reduced(loop(), oracle);
  EXPECT_EQ(reduction.result.inputs.at("m").tensor.to_ints()[0], 2);
  EXPECT_FALSE(has_node(reduction.result, "tanh"));
  EXPECT_NO_THROW(run_reference(reduction.result.model, reduction.result.inputs));
}

}  // namespace
}  // namespace vernier
