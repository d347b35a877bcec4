// Slices of weights along either axis, parts of results, and operands that are others.
#include <gtest/gtest.h>

#include "diagnose/precision_flags.h"

namespace vernier {
namespace {

const char* const kProduct = R"(graph "g" (%x: f32[24, 16], %w: f32[16, 12], %v: f32[16, 12]) -> (%y, %z) {
  %y: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
  %z: f32[*] = MatMul(%x, %v) version 13 @"other" from ["other"] })";

PlantedGraph product(Tensor w = drawn({16, 12}, 2)) {
  return {kProduct, {{"x", drawn({24, 16}, 1)}, {"w", std::move(w)}, {"v", drawn({16, 12}, 5)}}, {"w", "v"}};
}

using Change = std::function<double(const std::vector<double>& w, size_t row, size_t column)>;

// Gives the cause that is found with other weights.
std::string cause_of(const Change& change) {
  const auto graph = product();
  const auto w = graph.value("w").to_doubles();
  auto other = w;
  for (size_t i = 0; i < w.size(); ++i) other[i] = change(w, i / 12, i % 12);
  const auto found = graph.diagnosed("product", product(real_tensor({16, 12}, other)).value("y"));
  return found.cause ? found.cause->failure.code() + ": " + found.cause->what : "unexplained";
}

double at(const std::vector<double>& w, size_t row, size_t column) {
  return w[row * 12 + column];
}

TEST(WeightSlices, OfOneOutputChannel) {
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) { return at(w, r, c) * (c == 3 ? 2 : 1); }),
            "B47: the weights of 1 of its 12 output channels are 2 times what they should be");
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) {
              return at(w, r, c == 3 ? 5 : c == 5 ? 3 : c);
            }),
            "B47: 2 of its 12 output channels have other weights: 0 multiples of their own, 2 of others");
}

TEST(WeightSlices, OfInputChannels) {
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) { return r == 7 ? 0 : at(w, r, c); }),
            "B47: the weights of 1 of its 16 input channels are zero");
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) { return at(w, r, c) * (r >= 12 ? 0.5 : 1); }),
            "B47: the weights of 4 of its 16 input channels are multiples of what they should be");
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) {
              return at(w, r == 2 ? 9 : r == 9 ? 2 : r, c);
            }),
            "B47: two of its input channels have each other's weights");
}

TEST(WeightSlices, OfAnotherNode) {
  const auto v = drawn({16, 12}, 5).to_doubles();
  EXPECT_EQ(cause_of([&](auto&, size_t r, size_t c) { return at(v, r, c); }),
            "B47: operand 1 ('w') is 'v' in its place");
}

// Where nothing is added to the product, that is the same of its result.
TEST(WeightSlices, AllOfThemAreAMultiple) {
  EXPECT_EQ(cause_of([](auto& w, size_t r, size_t c) { return 0.25 * at(w, r, c); }),
            "B31: its result is 0.25 times what it should be");
}

const char* const kTransposed = R"(graph "g" (%x: f32[2, 4, 5, 5], %w: f32[4, 6, 3, 3]) -> (%y) {
  %y: f32[*] = ConvTranspose(%x, %w) {strides = ints[2, 2], pads = ints[1, 1, 1, 1], output_padding = ints[1, 1]} version 11 @"up" from ["up"] })";

TEST(WeightSlices, OfATransposedConvolution) {
  const auto transposed = [](Tensor w) {
    return PlantedGraph(kTransposed, {{"x", drawn({2, 4, 5, 5}, 1)}, {"w", std::move(w)}}, {"w"});
  };
  const auto graph = transposed(drawn({4, 6, 3, 3}, 2));
  auto w = graph.value("w").to_doubles();
  for (size_t i = 0; i < w.size(); ++i) w[i] *= i / 54 == 1 ? 0 : 1;
  const auto found = graph.diagnosed("up", transposed(real_tensor({4, 6, 3, 3}, w)).value("y"));
  ASSERT_TRUE(found.cause);
  EXPECT_EQ(found.cause->what, "the weights of 1 of its 4 input channels are zero");
}

const char* const kBlock = R"(graph "g" (%x: f32[6, 16], %r: f32[6, 16]) -> (%z) {
  %y: f32[*] = Tanh(%x) version 13 @"tanh" from ["tanh"]
  %z: f32[*] = Add(%y, %r) version 14 @"add" from ["add"] })";

PlantedGraph block() {
  return {kBlock, {{"x", drawn({6, 16}, 1)}, {"r", drawn({6, 16}, 2)}}};
}

std::string cause_of(const PlantedGraph& graph, const std::string& node, const std::vector<double>& made) {
  const auto found = graph.diagnosed(node, real_tensor({6, 16}, made));
  return found.cause ? found.cause->failure.code() + ": " + found.cause->what : "unexplained";
}

TEST(Parts, AnActivationThatDoesNotReachSomeChannels) {
  const auto graph = block();
  auto made = graph.value("y").to_doubles();
  const auto x = graph.value("x").to_doubles();
  for (size_t i = 0; i < made.size(); ++i) made[i] = i % 16 >= 13 ? x[i] : made[i];
  EXPECT_EQ(cause_of(graph, "tanh", made),
            "B31: it is not computed: what it reads is passed on, in the last 3 of 16 places along axis 1");
}

TEST(Parts, ATileThatIsAMultiple) {
  const auto graph = block();
  auto made = graph.value("z").to_doubles();
  for (size_t i = 0; i < made.size(); ++i) made[i] *= i % 16 >= 12 ? 0.6 : 1;
  EXPECT_EQ(cause_of(graph, "add", made),
            "B42: the last 4 of 16 places along axis 1 are 0.6 times what they should be");
}

// A constant that is next to nothing there would make next to nothing.
TEST(Parts, ATileThatWasNeverWritten) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[6, 16], %w: f32[16]) -> (%y) {
  %y: f32[*] = Mul(%x, %w) version 14 @"mul" from ["mul"] })",
                           {{"x", drawn({6, 16}, 1)}, {"w", drawn({16}, 2)}}, {"w"});
  auto made = graph.value("y").to_doubles();
  for (size_t i = 0; i < made.size(); ++i) made[i] *= i % 16 >= 12 ? 0 : 1;
  EXPECT_EQ(cause_of(graph, "mul", made), "B44: a part of its result is zero: it was never written");
}

// A reader that does not wait finds a part of it; all of it is a state that was kept.
TEST(Parts, ATileThatTheRunBeforeLeft) {
  const auto graph = block();
  const auto before = drawn({6, 16}, 9);
  HypothesisContext context = graph.context();
  context.sound_before = [before] { return Tensors{before}; };
  const auto cause = [&](size_t from) {
    auto made = graph.value("z").to_doubles();
    const auto old = before.to_doubles();
    for (size_t i = 0; i < made.size(); ++i) made[i] = i % 16 >= from ? old[i] : made[i];
    const auto found = reproduce(graph.flagged("add", real_tensor({6, 16}, made)), context).cause;
    return found ? found->failure.code() : "unexplained";
  };
  EXPECT_EQ(cause(11), "B44");
  EXPECT_EQ(cause(0), "B46");
}

TEST(Parts, ScatteredElementsAreNone) {
  const auto graph = block();
  auto made = graph.value("z").to_doubles();
  for (size_t i = 0; i < made.size(); i += 5) made[i] += 0.01 * static_cast<double>(i);
  const auto found = cause_of(graph, "add", made);
  EXPECT_EQ(found.find("places along"), std::string::npos) << found;
}

TEST(OtherValues, ARead) {
  const auto graph = block();
  auto made = graph.value("y").to_doubles();
  for (double& value : made) value *= 2;
  EXPECT_EQ(cause_of(graph, "add", made), "B31: operand 1 ('r') is 'y' in its place");
}

}  // namespace
}  // namespace vernier
