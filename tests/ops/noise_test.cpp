// The rounding noise that a run of the reference draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/text.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// %y of a graph whose nodes are `body`, from %x: f32[1024], with the noise of a seed.
Tensor noisy_y(const std::string& body, uint64_t seed) {
  Model model = parse_model("model ir=10 opset \"\" 21 {\ngraph \"main\" (%x: f32[1024]) -> (%y) {\n" + body +
                            "\n}\n}\n");
  ops::infer_types(*model.graph);
  const Tensor x = Tensor::from_doubles(ElementType::kFloat, {1024}, std::vector<double>(1024, 1.5));
  return run_reference(model, {{"x", x}}, {.noise_seed = seed}).outputs.at(0).tensor;
}

const std::string kExp = R"(%y: f32[1024] = Exp(%x) version 13 @"y" from ["y"])";

TEST(Noise, OfAValueStaysWhenOthersComeOrGo) {
  const std::string unread = R"(%z: f32[1024] = Sqrt(%x) version 13 @"z" from ["z"]
)";
  EXPECT_TRUE(noisy_y(kExp, 1).identical(noisy_y(unread + kExp, 1)));
  EXPECT_FALSE(noisy_y(kExp, 1).identical(noisy_y(kExp, 2)));
}

TEST(Noise, OfTwoValuesIsNotTheSame) {
  const Tensor difference = noisy_y(R"(
    %a: f32[1024] = Exp(%x) version 13 @"a" from ["a"]
    %b: f32[1024] = Exp(%x) version 13 @"b" from ["b"]
    %y: f32[1024] = Sub(%a, %b) version 14 @"y" from ["y"])",
                                    1);
  const auto values = difference.values<float>();
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](float value) { return value != 0; }));
}

std::set<float> elements(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

constexpr const char* kFloored = R"(
    const %three = f32[] hex"33335340"
    %t: f32[1024] = Mul(%x, %three) version 14 @"t" from ["t"]
    %y: f32[1024] = Floor(%t) version 13 @"y" from ["y"])";

TEST(Noise, MovesNothingThatRoundsNothing) {
  EXPECT_THAT(elements(noisy_y(kFloored, 1)), testing::ElementsAre(4));
  EXPECT_THAT(elements(noisy_y(R"(%y: f32[1024] = Neg(%x) version 13 @"y" from ["y"])", 1)),
              testing::ElementsAre(-1.5));
}

// 1.5 times two, and 1024 times that: float holds both, in whatever order they are summed.
TEST(Noise, MovesNothingThatNeedsNoRounding) {
  EXPECT_THAT(elements(noisy_y(R"(
    %t: f32[1024] = Add(%x, %x) version 14 @"t" from ["t"]
    %y: f32[*] = ReduceSum(%t) {keepdims = 1} version 13 @"y" from ["y"])",
                               1)),
              testing::ElementsAre(3072));
  EXPECT_GT(elements(noisy_y(R"(
    const %part = f32[] hex"cdcccc3d"
    %y: f32[1024] = Mul(%x, %part) version 14 @"y" from ["y"])",
                             1))
                .size(),
            1U);
}

// Inside a group that is computed as one nothing is stored; a step function that it ends in reads what
// arithmetic in float makes, and yields a whole number.
TEST(Noise, OfGroupsThatEndInAStep) {
  const auto of_group = [](double x) {
    Model model = parse_model(fmt::format(
        "model ir=10 opset \"\" 21 {{\ngraph \"main\" (%x: f32[1024]) -> (%y) {{{}\n}}\n}}\n", kFloored));
    ops::infer_types(*model.graph);
    std::vector<Node*> members;
    for (const auto& node : model.graph->nodes()) members.push_back(node.get());
    const Node* group = ops::make_group(*model.graph, members, "test");
    PlannedRoundings roundings;
    roundings.unrounded.insert(group);
    const Tensor input = Tensor::from_doubles(ElementType::kFloat, {1024}, std::vector<double>(1024, x));
    return elements(run_reference(*model.graph, {{"x", input}}, {.noise_seed = 1, .planned = &roundings})
                        .outputs.at(0)
                        .tensor);
  };
  EXPECT_THAT(of_group(1.5), testing::ElementsAre(4));
  EXPECT_THAT(of_group(10 / 3.3), testing::IsSubsetOf({9.F, 10.F}));  // on the edge, on either side
}

TEST(Noise, OfStatesWithoutTheirSequence) {
  Model model = parse_model(R"(model ir=10 opset "" 22 {
graph "g" (%x: f32[4, 3, 2], %w: f32[1, 8, 2], %r: f32[1, 8, 2]) -> (%h) {
  _, %h: f32[1, 3, 2] = LSTM(%x, %w, %r) {hidden_size = 2} version 22 @"l" from ["l"]
}
})");
  ops::infer_types(*model.graph);
  const auto filled = [](Dims dims) {
    const auto count = static_cast<size_t>(element_count(dims));
    return Tensor::from_doubles(ElementType::kFloat, std::move(dims), std::vector<double>(count, 0.5));
  };
  const auto run = [&](std::optional<uint64_t> seed) {
    return run_reference(model,
                         {{"x", filled({4, 3, 2})}, {"w", filled({1, 8, 2})}, {"r", filled({1, 8, 2})}},
                         {.noise_seed = seed})
        .outputs.at(0)
        .tensor;
  };
  EXPECT_FALSE(run(1).identical(run(std::nullopt)));
}

}  // namespace
}  // namespace vernier
