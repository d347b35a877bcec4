// Sums in narrow accumulators, added up here term by term.
#include <gtest/gtest.h>

#include "diagnose/precision_flags.h"
#include "vernier/numeric/minifloat.h"

namespace vernier {
namespace {

double half(double value) {
  return static_cast<double>(Float16(value));
}

// Rows of x times columns of w, by a way of adding up.
template <class Sum>
Tensor multiplied(const Tensor& x, const Tensor& w, const Sum& sum) {
  const int64_t rows = x.dims()[0], depth = x.dims()[1], columns = w.dims()[1];
  const auto a = x.to_doubles(), b = w.to_doubles();
  std::vector<double> made;
  for (int64_t i = 0; i < rows * columns; ++i) {
    std::vector<double> terms;
    for (int64_t k = 0; k < depth; ++k)
      terms.push_back(a[static_cast<size_t>(i / columns * depth + k)] *
                      b[static_cast<size_t>(k * columns + i % columns)]);
    made.push_back(sum(terms));
  }
  return real_tensor({rows, columns}, made);
}

double in_half(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) sum = half(sum + term);
  return sum;
}

PlantedGraph product(Tensor x, Tensor w) {
  return {R"(graph "g" (%x: f32[4, 512], %w: f32[512, 8]) -> (%y) {
    %y: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"] })",
          {{"x", std::move(x)}, {"w", std::move(w)}},
          {"w"}};
}

TEST(Accumulators, OneTermAfterTheOther) {
  const auto graph = product(drawn({4, 512}, 1, 1, 0.3), drawn({512, 8}, 2, 1, 0.3));
  const Tensor made = multiplied(graph.value("x"), graph.value("w"), in_half);
  EXPECT_EQ(graph.failure("product", made), "B8");
}

TEST(Accumulators, BlocksAreFound) {
  const auto graph = product(drawn({4, 512}, 1), drawn({512, 8}, 2));
  const Tensor made = multiplied(graph.value("x"), graph.value("w"), [](const std::vector<double>& terms) {
    double sum = 0;
    for (size_t first = 0; first < terms.size(); first += 16) {
      double part = 0;
      for (size_t i = first; i < first + 16; ++i) part += terms[i];
      sum = half(sum + part);
    }
    return sum;
  });
  const auto result = graph.diagnosed("product", made);
  ASSERT_TRUE(result.cause);
  EXPECT_EQ(result.cause->failure.code(), "B8");
  EXPECT_NE(result.cause->what.find("16 terms at a time"), std::string::npos) << result.cause->what;
}

// Split along K: the sums of three parts are stored.
TEST(Accumulators, PartsAreStored) {
  const auto told = [](const auto& added) {
    const auto graph = product(drawn({4, 512}, 1), drawn({512, 8}, 2));
    const Tensor made = multiplied(graph.value("x"), graph.value("w"), [&](const std::vector<double>& terms) {
      double sum = 0;
      for (size_t first = 0; first < terms.size(); first += 171) {
        double part = 0;
        for (size_t i = first; i < std::min(first + 171, terms.size()); ++i) part += terms[i];
        sum = added(sum + half(part));
      }
      return sum;
    });
    const auto result = graph.diagnosed("product", made);
    return result.cause ? result.cause->what : "";
  };
  EXPECT_EQ(told([](double sum) { return sum; }),
            "its sums are kept in float16, which stores sums of 171 terms");
  EXPECT_EQ(told([](double sum) { return half(sum); }),
            "its sums are kept in float16, which stores sums of 171 terms, and theirs");
}

TEST(Accumulators, AnOrderThatNobodyTries) {
  const auto graph = product(drawn({4, 512}, 1), drawn({512, 8}, 2));
  const Tensor made = multiplied(graph.value("x"), graph.value("w"), [](const std::vector<double>& terms) {
    double lanes[3] = {0, 0, 0};
    for (size_t i = terms.size(); i-- > 0;) lanes[i % 3] = half(lanes[i % 3] + terms[i]);
    return half(lanes[0] + half(lanes[1] + lanes[2]));
  });
  EXPECT_EQ(graph.failure("product", made), "B8");
}

TEST(Accumulators, PartialSumsThatOverflow) {
  std::vector<double> w;
  for (int i = 0; i < 512 * 8; ++i) w.push_back(i < 256 * 8 ? 40 : -40);
  const auto graph = product(drawn({4, 512}, 1, 8, 0.1), real_tensor({512, 8}, w));
  EXPECT_EQ(graph.failure("product", multiplied(graph.value("x"), graph.value("w"), in_half)), "B3");
}

TEST(Accumulators, SumsOfAReduction) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[2, 3, 512]) -> (%y) {
    const %axes = i64[1] hex"ffffffffffffffff"
    %y: f32[*] = ReduceSum(%x, %axes) {keepdims = 0} version 13 @"sum" from ["sum"] })",
                           {{"x", drawn({2, 3, 512}, 1, 1, 0.2)}});
  const auto x = graph.value("x").to_doubles();
  std::vector<double> made;
  for (int row = 0; row < 6; ++row)
    made.push_back(in_half(std::vector<double>(x.begin() + row * 512, x.begin() + (row + 1) * 512)));
  EXPECT_EQ(graph.failure("sum", real_tensor({2, 3}, made)), "B8");
}

TEST(Accumulators, AMeanWhoseSumOverflows) {
  const PlantedGraph graph(R"(graph "g" (%x: f32[4, 512]) -> (%y) {
    %y: f32[*] = ReduceMean(%x) {axes = ints[1]} version 13 @"mean" from ["mean"] })",
                           {{"x", drawn({4, 512}, 1, 300, 3)}});
  EXPECT_EQ(graph.failure("mean", real_tensor({4, 1}, std::vector<double>(4, HUGE_VAL))), "B3");
}

TEST(Accumulators, OfAConvolution) {
  const PlantedGraph graph(
      R"(graph "g" (%x: f32[1, 8, 6, 6], %w: f32[4, 8, 3, 3], %b: f32[4]) -> (%y) {
    %y: f32[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11 @"conv" from ["conv"] })",
      {{"x", drawn({1, 8, 6, 6}, 1)}, {"w", drawn({4, 8, 3, 3}, 2)}, {"b", drawn({4}, 3)}}, {"w", "b"});
  const auto x = graph.value("x").to_doubles(), w = graph.value("w").to_doubles(),
             b = graph.value("b").to_doubles();
  std::vector<double> made;
  for (int i = 0; i < 4 * 36; ++i) {
    double sum = 0;
    for (int k = 0; k < 72; ++k) {
      const int row = i % 36 / 6 + k % 9 / 3 - 1, column = i % 6 + k % 3 - 1;
      if (row < 0 || row > 5 || column < 0 || column > 5) continue;
      sum = half(sum + x[static_cast<size_t>(k / 9 * 36 + row * 6 + column)] *
                           w[static_cast<size_t>(i / 36 * 72 + k)]);
    }
    made.push_back(sum + b[static_cast<size_t>(i / 36)]);
  }
  EXPECT_EQ(graph.failure("conv", real_tensor({1, 4, 6, 6}, made)), "B8");
}

TEST(Accumulators, VarianceInOnePass) {
  const PlantedGraph graph(
      R"(graph "g" (%x: f32[4, 512], %s: f32[512], %b: f32[512]) -> (%y) {
    %y: f32[*] = LayerNormalization(%x, %s, %b) {axis = -1} version 17 @"norm" from ["norm"] })",
      {{"x", drawn({4, 512}, 1, 200, 0.05)}, {"s", drawn({512}, 2)}, {"b", drawn({512}, 3)}});
  const auto x = graph.value("x").to_doubles(), s = graph.value("s").to_doubles(),
             b = graph.value("b").to_doubles();
  std::vector<double> made;
  for (size_t row = 0; row < 4; ++row) {
    float sum = 0, squares = 0;
    for (size_t i = 0; i < 512; ++i) {
      const auto each = static_cast<float>(x[row * 512 + i]);
      sum += each;
      squares += static_cast<float>(each * each);
    }
    const float mean = sum / 512, variance = std::max(0.0F, squares / 512 - static_cast<float>(mean * mean));
    double exact = 0;
    for (size_t i = 0; i < 512; ++i) exact += x[row * 512 + i] / 512;
    for (size_t i = 0; i < 512; ++i)
      made.push_back((x[row * 512 + i] - exact) / std::sqrt(static_cast<double>(variance) + 1e-5) * s[i] +
                     b[i]);
  }
  EXPECT_EQ(graph.failure("norm", real_tensor({4, 512}, made)), "B12");
}

}  // namespace
}  // namespace vernier
