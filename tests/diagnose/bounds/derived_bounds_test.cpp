// Derived bounds do not allow what roundings cannot do, and they name where the rest becomes large.
#include "vernier/diagnose/bounds/derived_bounds.h"

#include <cmath>

#include "diagnose/planted.h"
#include "vernier/diagnose/bounds/amplifier.h"
#include "vernier/diagnose/bounds/perturbation.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/diagnose/under_test/unshown_regions.h"

namespace vernier {
namespace {

Tensor tensor_of(Dims dims, const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

double bound_of(const std::string& graph, const NamedData& inputs) {
  const Model model = parse_graph(graph);
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  return derived_bounds(tested, inputs, 1).at("y").relative_l2;
}

constexpr double kFewRoundings = 1e-5;

// As windows of an image are told apart in shifted attention: different ids do not attend to each other.
TEST(DerivedBounds, ComparedIdsAreWhatTheyAre) {
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[4, 4], %ids: f32[4]) -> (%y) {
    const %row = i64[1] hex"0000000000000000"
    const %column = i64[1] hex"0100000000000000"
    const %zero = f32[] hex"00000000"
    const %two = f32[] hex"00000040"
    const %no = f32[] hex"0000c8c2"
    %a: f32[*] = Unsqueeze(%ids, %row) version 13 @"a" from ["a"]
    %b: f32[*] = Unsqueeze(%ids, %column) version 13 @"b" from ["b"]
    %d: f32[*] = Sub(%a, %b) version 14 @"d" from ["d"]
    %size: f32[*] = Abs(%d) version 13 @"size" from ["size"]
    %differ: bool[*] = Equal(%size, %two) version 13 @"differ" from ["differ"]
    %mask: f32[*] = Where(%differ, %no, %zero) version 16 @"mask" from ["mask"]
    %scores: f32[*] = Add(%x, %mask) version 14 @"scores" from ["scores"]
    %y: f32[*] = Softmax(%scores) version 13 @"y" from ["y"] })",
                     {{"x", wave({4, 4}, 0.7)}, {"ids", tensor_of({4}, {3, 3, 1, 3})}}),
            kFewRoundings);
}

// An index that arithmetic in floats makes, and what is found there: x times ten, cut off.
const std::string kFlooredIndex = R"(graph "g" (%x: f32[6]) -> (%y) {
  const %ten = f32[] hex"00002041"
  const %table = f32[10] hex"0000803f00000040000040400000804000000a4200000c4200000e42000010420000124200001442"
  %t: f32[*] = Mul(%x, %ten) version 14 @"t" from ["t"]
  %f: f32[*] = Floor(%t) version 13 @"f" from ["f"]
  %i: i64[*] = Cast(%f) {to = 7} version 13 @"i" from ["i"]
  %y: f32[*] = Gather(%table, %i) version 13 @"y" from ["y"] })";

TEST(DerivedBounds, DecisionsFarFromTheirEdgesHaveNoNoise) {
  EXPECT_LT(bound_of(kFlooredIndex, {{"x", tensor_of({6}, {0.13, 0.27, 0.44, 0.62, 0.78, 0.83})}}),
            kFewRoundings);
}

// 0.7 in float lies a little below it, and ten times as much is rounded to seven.
TEST(DerivedBounds, DecisionsOnTheirEdgesHaveNoise) {
  EXPECT_GT(bound_of(kFlooredIndex, {{"x", tensor_of({6}, std::vector<double>(6, 0.7))}}), 0.01);
}

// The same where the factor, ten, is a weight of a narrow type: it was never rounded.
TEST(DerivedBounds, WholeNumbersAmongNarrowWeightsAreExact) {
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[4]) -> (%y) {
    const %ten = f16[] hex"0049"
    %factor: f32[] = Cast(%ten) {to = 1} version 13 @"factor" from ["factor"]
    %t: f32[4] = Mul(%x, %factor) version 14 @"t" from ["t"]
    %y: f32[4] = Ceil(%t) version 13 @"y" from ["y"] })",
                     {{"x", tensor_of({4}, {0.1999, 0.2999, 0.3999, 0.4999})}}),
            kFewRoundings);
}

// As the sizes of a resampling: whole numbers times a power of two, and sums of them.
TEST(DerivedBounds, WholeNumbersInFloatsAreExact) {
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[2, 3]) -> (%y) {
    const %double = f32[] hex"00000040"
    const %zero = i64[] hex"0000000000000000"
    %s: i64[2] = Shape(%x) version 13 @"s" from ["s"]
    %f: f32[2] = Cast(%s) {to = 1} version 13 @"f" from ["f"]
    %t: f32[2] = Mul(%f, %double) version 14 @"t" from ["t"]
    %w: f32[2] = Floor(%t) version 13 @"w" from ["w"]
    %c: f32[2] = CumSum(%w, %zero) version 14 @"c" from ["c"]
    %d: f32[2] = Ceil(%c) version 13 @"d" from ["d"]
    %y: f32[2] = Sub(%d, %t) version 14 @"y" from ["y"] })",
                     {{"x", wave({2, 3}, 0.7)}}),
            1e-12);
}

// The smallest beside a large one: noise of the size of the latter would make it negative.
TEST(DerivedBounds, SumsOfSquaresAreNotNegative) {
  NamedData inputs{{"x", wave({16, 8}, 0.7)}};
  auto values = inputs["x"].tensor.to_doubles();
  for (size_t i = 0; i < 8; ++i) values[8 * 5 + i] = 1e-9;
  inputs["x"] = tensor_of({16, 8}, values);
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[16, 8]) -> (%y) {
    const %axis = i64[1] hex"0100000000000000"
    %squares: f32[*] = Mul(%x, %x) version 14 @"squares" from ["squares"]
    %sums: f32[*] = ReduceSum(%squares, %axis) version 13 @"sums" from ["sums"]
    %y: f32[*] = Sqrt(%sums) version 13 @"y" from ["y"] })",
                     inputs),
            1e-3);
}

// Nor where it is computed by what may round.
TEST(DerivedBounds, TheLowestNumberIsNoInf) {
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[2, 4], %keep: bool[2, 4]) -> (%y) {
    const %lowest = f32[] hex"ffff7fff"
    const %zero = f32[] hex"00000000"
    const %one = f32[] hex"0000803f"
    %chosen: f32[*] = Where(%keep, %zero, %lowest) version 16 @"chosen" from ["chosen"]
    %mask: f32[*] = Div(%chosen, %one) version 14 @"mask" from ["mask"]
    %y: f32[*] = Mul(%mask, %x) version 14 @"y" from ["y"] })",
                     {{"x", tensor_of({2, 4}, std::vector<double>(8, 2e-38))},
                      {"keep", Tensor::from_doubles(ElementType::kBool, {2, 4},
                                                    std::vector<double>{1, 0, 1, 0, 1, 1, 0, 0})}}),
            kFewRoundings);
}

// A formula of it cancels near one, and nowhere else.
TEST(DerivedBounds, TheLogarithmOfALargeNumberDoesNotCancel) {
  EXPECT_LT(bound_of(R"(graph "g" (%x: f32[4]) -> (%y) {
    %y: f32[*] = Log(%x) version 13 @"y" from ["y"] })",
                     {{"x", tensor_of({4}, {2e6, 3e7, 5e6, 1e5})}}),
            kFewRoundings);
}

// Some lie a little below their thresholds: few draws reach these.
TEST(DerivedBounds, DecisionsOnTheEdgeAreDrawnMoreOften) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[64], %t: f32[64]) -> (%y) {
    %a: f32[*] = Mul(%x, %x) version 14 @"a" from ["a"]
    %b: f32[*] = Mul(%a, %x) version 14 @"b" from ["b"]
    %c: f32[*] = Mul(%b, %x) version 14 @"c" from ["c"]
    %g: bool[*] = Greater(%c, %t) version 13 @"g" from ["g"]
    %y: f32[*] = Cast(%g) {to = 1} version 13 @"y" from ["y"] })");
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const std::vector<double> x(64, 1.1f);
  std::vector<double> thresholds(64, 1);
  for (size_t i = 0; i < 6; ++i) thresholds[i] = std::pow(static_cast<double>(1.1f), 4) + 0x1p-23;
  const NamedData inputs{{"x", tensor_of({64}, x)}, {"t", tensor_of({64}, thresholds)}};
  const ShownRun shown = tested.show(inputs);
  const auto times_seen = [&](double met) {
    int count = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const auto found = propagated_errors(tested, shown, inputs, seed, {nullptr, {{"y", met}}});
      count += found.at("y").relative_l2 > 0 ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(times_seen(0), 15);
  EXPECT_EQ(times_seen(0.02), 20);
}

constexpr const char* kThreeNodes = R"(graph "g" (%x: f32[64, 64], %w: f32[64, 64]) -> (%y) {
  %a: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
  %b: f32[*] = Tanh(%a) version 13 @"b" from ["b"]
  %y: f32[*] = Softmax(%b) {axis = -1} version 13 @"y" from ["y"] })";

// It takes as long as many runs of the reference.
TEST(DerivedBounds, ErrorsOfANodeAreWorkedOutOnce) {
  const Model model = parse_graph(kThreeNodes);
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({64, 64}, 0.7)}, {"w", wave({64, 64}, 1.3)}};
  const ShownRun shown = tested.show(inputs);
  const auto times_known = [&](size_t most_bytes) {
    KnownErrors known(most_bytes);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Perturbation perturbation(tested, shown, seed, known);
      reference_outputs(*model.graph, inputs, perturbation.applied({}));
    }
    return known.used();
  };
  EXPECT_EQ(times_known(1 << 20), 9);  // of three nodes in four draws
  EXPECT_EQ(times_known(20000), 3);    // there is room for one of them
  EXPECT_EQ(times_known(0), 0);
  const auto expected = [&](size_t most_bytes) {
    PropagationOptions options;
    options.most_bytes = most_bytes;
    return propagated_errors(tested, shown, inputs, 1, options).at("y").relative_l2;
  };
  EXPECT_NEAR(expected(1 << 20) / expected(0), 1, 0.05);
}

// Sizes are what they are where nobody sees what they are made of, even if that has errors.
TEST(DerivedBounds, ErrorsDoNotMoveSizes) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 8]) -> (%y) {
    const %first = i64[1] hex"0000000000000000"
    const %rest = i64[1] hex"ffffffffffffffff"
    %t: f32[4, 8] = Tanh(%x) version 13 @"t" from ["t"]
    %sizes: i64[2] = Shape(%t) version 15 @"sizes" from ["sizes"]
    %rows: i64[1] = Gather(%sizes, %first) version 13 @"rows" from ["rows"]
    %to: i64[2] = Concat(%rows, %rest) {axis = 0} version 13 @"to" from ["to"]
    %y: f32[4, 8] = Reshape(%t, %to) version 14 @"y" from ["y"] })");
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({4, 8}, 0.7)}};
  ShownRun shown = tested.show(inputs);
  shown.graph = group_unshown(*model.graph, {"t", "rows", "to"});
  ASSERT_EQ(shown.graph->nodes().size(), 4U);
  for (uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_GT(propagated_errors(tested, shown, inputs, seed).at("y").relative_l2, 0);
}

// A bound of few draws is better than none.
TEST(DerivedBounds, DrawsEndWithTheTime) {
  const Model model = parse_graph(kThreeNodes);
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({64, 64}, 0.7)}, {"w", wave({64, 64}, 1.3)}};
  PropagationOptions options;
  int asked = 0;
  options.is_over = [&] { return ++asked > 0; };
  EXPECT_GT(propagated_errors(tested, tested.show(inputs), inputs, 1, options).at("y").relative_l2, 0);
  EXPECT_EQ(asked, 1);
}

constexpr const char* kCancels = R"(graph "g" (%x: f32[64], %w: f32[64]) -> (%y) {
  %a: f32[*] = Mul(%x, %w) version 14 @"before" from ["before"]
  %b: f32[*] = Sub(%a, %x) version 14 @"cancels" from ["cancels"]
  %y: f32[*] = Mul(%b, %w) version 14 @"after" from ["after"] })";

std::optional<Amplifier> amplifier_of(double w) {
  const Model model = parse_graph(kCancels);
  PlantedRunner runner(model, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({64}, 0.7)}, {"w", tensor_of({64}, std::vector<double>(64, w))}};
  const ShownRun shown = tested.show(inputs);
  return AmplifierSearch(tested, shown, inputs, 1).worst_before("y");
}

TEST(DerivedBounds, TheNodeThatAmplifiesIsNamed) {
  const auto found = amplifier_of(1 + 0x1p-20);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, "cancels");
  EXPECT_GT(found->makes, 1e4 * found->reads);
  const auto harmless = amplifier_of(3);
  EXPECT_TRUE(!harmless || harmless->makes < 1e-6) << harmless->node;
}

// Values that no error reaches have a bound, and those from the node on that is wrong have none.
TEST(DerivedBounds, InnerValuesHaveThemUntilANodeIsWrong) {
  const Model model = parse_graph(kCancels);
  PlantedRunner runner(model, add_to_element("cancels", 3, 0.5));
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({64}, 0.7)}, {"w", wave({64}, 1.3)}};
  const auto bounds = derived_bounds(tested, inputs, 1, {"a", "b", "nobody's"});
  ASSERT_EQ(bounds.size(), 1);
  EXPECT_LT(bounds.at("a").relative_l2, kFewRoundings);
  EXPECT_GT(bounds.at("a").relative_l2, 0);
  EXPECT_TRUE(derived_bounds(tested, inputs, 1).empty());
  PlantedRunner right(model, nullptr);
  RunnerUnderTest sound(right, model, nullptr);
  EXPECT_EQ(derived_bounds(sound, inputs, 1, {"a", "b"}).size(), 3);
}

}  // namespace
}  // namespace vernier
