// Numbers that an engine holds in a narrower type than the graph says: each class of it, computed here by
// the types of numeric, and twins on which nothing of that explains.
#include <gtest/gtest.h>

#include <thread>

#include "diagnose/precision_flags.h"
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/numeric/minifloat.h"

namespace vernier {
namespace {

template <class Narrow>
Tensor held(const Tensor& tensor) {
  auto values = tensor.to_doubles();
  for (double& value : values) value = static_cast<double>(Narrow(value));
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

template <class Function>
Tensor mapped(const Tensor& tensor, const Function& function) {
  auto values = tensor.to_doubles();
  for (double& value : values) value = function(value);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

double half(double value) {
  return static_cast<double>(Float16(value));
}

const char* const kProduct = R"(graph "g" (%x: f32[8, 64], %w: f32[64, 8]) -> (%y) {
  %y: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"] })";

PlantedGraph product(Tensor x = drawn({8, 64}, 1), Tensor w = drawn({64, 8}, 2)) {
  return {kProduct, {{"x", std::move(x)}, {"w", std::move(w)}}, {"w"}};
}

Tensor multiplied(const Tensor& x, const Tensor& w) {
  const PlantedGraph other(kProduct, {{"x", x}, {"w", w}});
  return other.value("y");
}

// A finite number overflows exactly where rounding makes it infinite.
TEST(NarrowFormat, OverflowsWhereItRoundsToInfinity) {
  const NarrowFormat formats[] = {NarrowFormat::float16(), NarrowFormat::bfloat16(), NarrowFormat::tf32(),
                                  NarrowFormat::float8e4m3(), NarrowFormat::float8e5m2()};
  for (const NarrowFormat& format : formats) {
    SCOPED_TRACE(format.name);
    const double step = std::ldexp(1.0, std::ilogb(format.largest) - format.digits + 1);
    for (const double steps : {0.0, 0.25, 0.499, 0.5, 0.501, 0.75, 1.0, 1.5}) {
      const double value = format.largest + steps * step;
      EXPECT_EQ(format.overflows(value), std::isinf(format.round(value))) << steps;
      EXPECT_EQ(format.overflows(-value), std::isinf(format.round(-value))) << steps;
      EXPECT_EQ(format.truncating().overflows(value), steps >= 1) << steps;
    }
  }
  EXPECT_FALSE(NarrowFormat::float16().overflows(65519.99));
  EXPECT_TRUE(NarrowFormat::float16().overflows(65520));
}

TEST(Precisions, OperandsInTf32) {
  const auto graph = product();
  const Tensor made =
      multiplied(held<TensorFloat32>(graph.value("x")), held<TensorFloat32>(graph.value("w")));
  EXPECT_EQ(graph.failure("product", made), "B9");
}

// The time may be over as soon as another family asks for anything.
TEST(Precisions, WhatALookFindsLikelyIsSimulatedFirst) {
  const auto graph = product();
  const auto flagged = graph.flagged("product", held<BFloat16>(graph.value("y")));
  const Stopwatch watch(2);
  HypothesisContext context = graph.context();
  context.sound_before = [&]() -> Tensors {
    while (!watch.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return Tensors(1);
  };
  const auto found = reproduce(flagged, context, &watch);
  ASSERT_TRUE(found.cause) << found.tried;
  EXPECT_EQ(found.cause->failure.code(), "B15") << found.cause->what;
}

// Small numbers, which float16 rounds otherwise, tell them apart.
TEST(Precisions, OperandsInFloat16) {
  const auto graph = product(drawn({8, 64}, 1, 0, 1e-4));
  const Tensor made = multiplied(held<Float16>(graph.value("x")), held<Float16>(graph.value("w")));
  EXPECT_NE(graph.failure("product", made), "B9");
}

TEST(Precisions, OperandsResultsOrWeightsInBfloat16) {
  const auto graph = product();
  const Tensor &x = graph.value("x"), &w = graph.value("w");
  EXPECT_EQ(graph.failure("product", multiplied(held<BFloat16>(x), held<BFloat16>(w))), "B15");
  EXPECT_EQ(graph.failure("product", held<BFloat16>(graph.value("y"))), "B15");
  EXPECT_EQ(graph.failure("product", multiplied(x, held<BFloat16>(w))), "B15");
}

TEST(Precisions, ResultsInFloat16ThatNobodyAskedFor) {
  const auto graph = product();
  const auto result = graph.diagnosed("product", held<Float16>(graph.value("y")));
  ASSERT_TRUE(result.cause);
  EXPECT_EQ(result.cause->failure.code(), "B13");
  // An accumulator that is rounded once is the same, and takes long to simulate.
  for (const Simulated& other : result.others)
    EXPECT_EQ(other.what.find("64 terms at a time"), std::string::npos);
}

// A bias that is much larger than the product is rounded like the other operands.
TEST(Precisions, BiasInFloat16) {
  const char* text = R"(graph "g" (%x: f32[8, 64], %w: f32[64, 8], %b: f32[8]) -> (%y) {
    %y: f32[*] = Gemm(%x, %w, %b) version 13 @"layer" from ["layer"] })";
  const Tensor x = drawn({8, 64}, 1, 0, 1e-3), w = drawn({64, 8}, 2), b = drawn({8}, 3, 10, 3);
  const PlantedGraph graph(text, {{"x", x}, {"w", w}, {"b", b}}, {"w", "b"});
  const PlantedGraph other(text, {{"x", held<Float16>(x)}, {"w", held<Float16>(w)}, {"b", held<Float16>(b)}});
  const auto result = graph.diagnosed("layer", held<Float16>(other.value("y")));
  ASSERT_TRUE(result.cause);
  EXPECT_EQ(result.cause->what, "it is computed in float16");
}

TEST(Precisions, WeightsInFourBits) {
  const auto graph = product();
  auto w = graph.value("w").to_doubles();
  constexpr double kNumbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (size_t column = 0; column < 8; ++column) {
    double largest = 0;
    for (size_t row = 0; row < 64; ++row) largest = std::max(largest, std::abs(w[8 * row + column]));
    for (size_t row = 0; row < 64; ++row) {
      double& one = w[8 * row + column];
      double nearest = 0;
      for (const double number : kNumbers) {
        if (std::abs(std::abs(one) * 6 / largest - number) < std::abs(std::abs(one) * 6 / largest - nearest))
          nearest = number;
      }
      one = std::copysign(nearest * largest / 6, one);
    }
  }
  EXPECT_EQ(graph.failure("product", multiplied(graph.value("x"), real_tensor({64, 8}, w))), "B15");
}

TEST(Precisions, FactorThatIsLostIsNoPrecision) {
  const auto graph = product();
  EXPECT_NE(graph.failure("product", mapped(graph.value("y"), [](double y) { return 1.5 * y; })), "B15");
}

TEST(Precisions, ResultsThatOverflow) {
  const auto graph = product(drawn({8, 64}, 1, 0, 3000));
  EXPECT_EQ(graph.failure("product", held<Float16>(graph.value("y"))), "B2");
}

TEST(Precisions, WeightsThatUnderflow) {
  const auto graph = product(drawn({8, 64}, 1), drawn({64, 8}, 2, 0, 3e-8));
  EXPECT_EQ(graph.failure("product", multiplied(graph.value("x"), held<Float16>(graph.value("w")))), "B4");
  // Without subnormals.
  const auto other = product(drawn({8, 64}, 1), drawn({64, 8}, 2, 0, 3e-5));
  const Tensor flushed =
      mapped(other.value("w"), [](double w) { return std::abs(half(w)) < 0x1p-14 ? 0.0 : half(w); });
  EXPECT_EQ(other.failure("product", multiplied(other.value("x"), flushed)), "B4");
}

const char* const kNorm = R"(graph "g" (%x: f32[4, 64]) -> (%y) {
  const %e = f32[] hex"acc52737"
  const %axes = i64[1] hex"ffffffffffffffff"
  %s: f32[*] = Mul(%x, %x) version 13 @"square" from ["square"]
  %m: f32[*] = ReduceSum(%s, %axes) version 13 @"sum" from ["sum"]
  %a: f32[*] = Add(%m, %e) version 13 @"add" from ["add"]
  %r: f32[*] = Sqrt(%a) version 13 @"root" from ["root"]
  %y: f32[*] = Div(%x, %r) version 13 @"div" from ["div"] })";

TEST(Precisions, StatisticsOfANormThatOverflow) {
  const PlantedGraph graph(kNorm, {{"x", drawn({4, 64}, 3, 0, 300)}});
  EXPECT_EQ(graph.failure("square", held<Float16>(graph.value("s"))), "B1");
  EXPECT_EQ(graph.failure("sum", held<Float16>(graph.value("m"))), "B1");
  // The same square where nothing takes a root of its sum.
  const PlantedGraph other(R"(graph "g" (%x: f32[4, 64]) -> (%y) {
    %y: f32[*] = Mul(%x, %x) version 13 @"square" from ["square"] })",
                           {{"x", drawn({4, 64}, 3, 0, 300)}});
  EXPECT_EQ(other.failure("square", held<Float16>(other.value("y"))), "B2");
}

TEST(Precisions, LogitsThatOverflow) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[8, 64], %w: f32[64, 8]) -> (%y) {
    const %c = f32[] hex"0000003e"
    %s: f32[*] = MatMul(%x, %w) version 13 @"scores" from ["scores"]
    %d: f32[*] = Mul(%s, %c) version 13 @"scale" from ["scale"]
    %y: f32[*] = Softmax(%d) {axis = -1} version 13 @"softmax" from ["softmax"] })",
                           {{"x", drawn({8, 64}, 1, 0, 100)}, {"w", drawn({64, 8}, 2, 0, 100)}});
  EXPECT_EQ(graph.failure("scores", held<Float16>(graph.value("s"))), "B7");
}

TEST(Precisions, SoftmaxOfLogitsAsTheyAre) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[2, 16]) -> (%y) {
    %y: f32[*] = Softmax(%x) {axis = -1} version 13 @"softmax" from ["softmax"] })",
                           {{"x", drawn({2, 16}, 1, 5, 8)}});
  auto values = graph.value("x").to_doubles();
  for (size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += values[16 * row + i] = half(std::exp(values[16 * row + i]));
    for (size_t i = 0; i < 16; ++i) values[16 * row + i] /= half(sum);
  }
  EXPECT_EQ(graph.failure("softmax", real_tensor({2, 16}, values)), "B7");
}

TEST(Precisions, EpsilonThatIsLost) {
  auto x = drawn({4, 64}, 3).to_doubles();
  std::fill(x.begin(), x.begin() + 64, 0);
  std::string text = kNorm;
  text.replace(text.find("acc52737"), 8, "ccbc8c2b");  // 1e-12
  const PlantedGraph graph(text, {{"x", real_tensor({4, 64}, x)}});
  EXPECT_EQ(graph.failure("add", graph.value("m")), "B5");
}

TEST(Precisions, SentinelThatIsClampedOrInfinite) {
  const PlantedGraph graph(
      R"(graph "g" (%x: f32[4, 8], %m: f32[4, 8]) -> (%y) {
    const %c = f32[] hex"ffff7fff"
    %k: f32[*] = Mul(%m, %c) version 13 @"mask" from ["mask"]
    %s: f32[*] = Add(%x, %k) version 13 @"add" from ["add"]
    %y: f32[*] = Softmax(%s) {axis = -1} version 13 @"softmax" from ["softmax"] })",
      {{"x", drawn({4, 8}, 1)}, {"m", mapped(drawn({4, 8}, 2), [](double v) { return v > 0 ? 1.0 : 0.0; })}});
  const Tensor& m = graph.value("m");
  EXPECT_EQ(graph.failure("mask", mapped(m, [](double one) { return one * -65504; })), "B6");
  EXPECT_EQ(graph.failure("mask", mapped(m, [](double one) { return one * -HUGE_VAL; })), "B6");
  EXPECT_EQ(graph.failure("add", held<Float16>(graph.value("s"))), "B6");
}

// In float16 a mask of -65520 is -Inf.
TEST(Precisions, SentinelThatRoundsToInfinity) {
  const PlantedGraph graph(
      R"(graph "g" (%x: f32[4, 8], %m: f32[4, 8]) -> (%y) {
    const %c = f32[] hex"00f07fc7"
    %k: f32[*] = Mul(%m, %c) version 13 @"mask" from ["mask"]
    %s: f32[*] = Add(%x, %k) version 13 @"add" from ["add"]
    %y: f32[*] = Softmax(%s) {axis = -1} version 13 @"softmax" from ["softmax"] })",
      {{"x", drawn({4, 8}, 1)}, {"m", mapped(drawn({4, 8}, 2), [](double v) { return v > 0 ? 1.0 : 0.0; })}});
  EXPECT_EQ(graph.failure("mask", held<Float16>(graph.value("k"))), "B6");
}

// The logarithm of 1 + 2^20 x: no mask, though the constant is as large as one's.
TEST(Precisions, AConstantThatScalesNumbersIsNoSentinel) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[4, 8]) -> (%y) {
    const %c = f32[] hex"00008049"
    const %one = f32[] hex"0000803f"
    %k: f32[*] = Mul(%x, %c) version 13 @"scale" from ["scale"]
    %s: f32[*] = Add(%k, %one) version 13 @"add" from ["add"]
    %y: f32[*] = Log(%s) version 13 @"log" from ["log"] })",
                           {{"x", drawn({4, 8}, 1, 0.5, 0.1)}});
  EXPECT_EQ(graph.failure("scale", held<Float16>(graph.value("k"))), "B2");
}

TEST(Precisions, PhasesOfLargeAngles) {
  const PlantedGraph graph(R"(graph "g" (%t: f32[4, 1], %f: f32[1, 32]) -> (%y) {
    %a: f32[*] = Mul(%t, %f) version 13 @"angle" from ["angle"]
    %y: f32[*] = Sin(%a) version 7 @"sine" from ["sine"] })",
                           {{"t", drawn({4, 1}, 1, 700, 200)}, {"f", drawn({1, 32}, 2, 0.5, 0.1)}});
  EXPECT_EQ(graph.failure("angle", held<Float16>(graph.value("a"))), "B11");
  EXPECT_EQ(
      graph.failure("sine", mapped(held<Float16>(graph.value("a")), [](double a) { return std::sin(a); })),
      "B11");
}

TEST(Precisions, FloatsBetweenCasts) {
  const PlantedGraph graph(R"(graph "g" (%x: f16[4, 64]) -> (%y) {
    %f: f32[*] = Cast(%x) {to = 1} version 13 @"in" from ["in"]
    %s: f32[*] = Mul(%f, %f) version 13 @"square" from ["square"]
    %y: f16[*] = Cast(%s) {to = 10} version 13 @"out" from ["out"] })",
                           {{"x", drawn({4, 64}, 1, 0, 1, ElementType::kFloat16)}});
  EXPECT_EQ(graph.failure("square", held<Float16>(graph.value("s"))), "B13");
}

TEST(Precisions, SizesInAFloat) {
  const PlantedGraph graph(R"(graph "g" (%n: i64[1]) -> (%y) {
    const %c = f32[] hex"0000003f"
    %f: f32[*] = Cast(%n) {to = 1} version 13 @"in" from ["in"]
    %h: f32[*] = Mul(%f, %c) version 13 @"part" from ["part"]
    %y: i64[*] = Cast(%h) {to = 7} version 13 @"out" from ["out"] })",
                           {{"n", Tensor::from_ints(ElementType::kInt64, {1}, std::vector<int64_t>{4102})}});
  EXPECT_EQ(graph.failure("part", held<BFloat16>(graph.value("h"))), "B10");
}

TEST(Precisions, IdsInAFloat) {
  const PlantedGraph graph(
      R"(graph "g" (%t: f32[3000, 2], %i: i64[3]) -> (%y) {
    %y: f32[*] = Gather(%t, %i) version 13 @"gather" from ["gather"] })",
      {{"t", drawn({3000, 2}, 1)},
       {"i", Tensor::from_ints(ElementType::kInt64, {3}, std::vector<int64_t>{2049, 17, 2501})}});
  const auto t = graph.value("t").to_doubles();
  EXPECT_EQ(graph.failure("gather", real_tensor({3, 2}, {t[4096], t[4097], t[34], t[35], t[5000], t[5001]})),
            "B10");
  // These are other rows, which no format explains.
  EXPECT_EQ(graph.failure("gather", real_tensor({3, 2}, {t[2], t[3], t[64], t[65], t[500], t[501]})), "B39");
}

TEST(Precisions, CastThatIsNotExecuted) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[16, 4]) -> (%y) {
    const %c = f16[] hex"d063"
    %h: f16[*] = Cast(%x) {to = 10} version 13 @"narrow" from ["narrow"]
    %s: f16[*] = Add(%h, %c) version 13 @"add" from ["add"]
    %y: f32[*] = Cast(%s) {to = 1} version 13 @"wide" from ["wide"] })",
                           {{"x", drawn({16, 4}, 1)}});
  EXPECT_EQ(graph.failure("wide", mapped(graph.value("x"), [](double x) { return x + 1000; })), "B14");
}

TEST(Precisions, CastToIntegersThatIsNotExecuted) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[16, 4]) -> (%y) {
    %i: i32[*] = Cast(%x) {to = 6} version 13 @"whole" from ["whole"]
    %y: f32[*] = Cast(%i) {to = 1} version 13 @"back" from ["back"] })",
                           {{"x", drawn({16, 4}, 1, 10, 5)}});
  EXPECT_EQ(graph.failure("back", graph.value("x")), "B14");
}

TEST(Precisions, FunctionsThatAreApproximated) {
  const PlantedGraph gelu(R"(graph "g" (%x: f32[16, 16]) -> (%y) {
    %y: f32[*] = Gelu(%x) version 20 @"gelu" from ["gelu"] })",
                          {{"x", drawn({16, 16}, 1, 0, 2)}});
  EXPECT_EQ(gelu.failure("gelu", mapped(gelu.value("x"),
                                        [](double x) {
                                          return x / 2 *
                                                 (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
                                        })),
            "B31");
  const PlantedGraph power(R"(graph "g" (%x: f32[16, 16]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"exp" from ["exp"] })",
                           {{"x", drawn({16, 16}, 1, 0, 4)}});
  EXPECT_EQ(
      power.failure("exp", mapped(power.value("x"), [](double x) { return std::pow(1 + x / 256, 256); })),
      "B11");
}

}  // namespace
}  // namespace vernier
