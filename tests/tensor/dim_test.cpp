#include "vernier/tensor/dim.h"

#include <gtest/gtest.h>

#include "vernier/base/error.h"

namespace vernier {
namespace {

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

TEST(Dim, SimplifiesToOneForm) {
  EXPECT_EQ((n + 1) * 2 - n, n + 2);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_NE(n, m);
}

TEST(Dim, DividesExactlyWhereItCan) {
  EXPECT_EQ(floordiv(n * 6, 3), n * 2);
  EXPECT_EQ(floordiv(n * m * 4, n * 2), m * 2);
  EXPECT_EQ(floordiv((n + 1) * m, n + 1), m);
  EXPECT_EQ(floordiv(n * 6 + m + 7, 3), n * 2 + 2 + floordiv(m + 1, 3));
  EXPECT_EQ(floordiv(floordiv(n, 2), 3), floordiv(n, 6));
}

TEST(Dim, FloorsTowardsMinusInfinity) {
  EXPECT_EQ(floordiv(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(ceildiv(Dim(7), 2), Dim(4));
  EXPECT_EQ(mod(Dim(-7), 3), Dim(2));
  EXPECT_THROW(floordiv(n, 0), Error);
}

TEST(Dim, DecidesExtremaThatBoundsDecide) {
  EXPECT_EQ(max(n, n + 3), n + 3);
  EXPECT_EQ(min(n, 1), Dim(1));
  EXPECT_EQ(max(n, m), max(m, n));
  EXPECT_EQ(max(n, max(n, m)), max(n, m));
}

TEST(Dim, EvaluatesLikeTheArithmeticItRecords) {
  for (int64_t a = 1; a < 40; ++a) {
    for (int64_t b = 1; b < 12; ++b) {
      const SymbolValues values{{"n", a}, {"m", b}};
      EXPECT_EQ(floordiv(n * 3 + 5, 4).evaluate(values), (a * 3 + 5) / 4);
      EXPECT_EQ(ceildiv(n, m).evaluate(values), (a + b - 1) / b);
      EXPECT_EQ(mod(n, m).evaluate(values), a % b);
      EXPECT_EQ(max(n - m, 0).evaluate(values), std::max<int64_t>(a - b, 0));
    }
  }
  EXPECT_EQ(n.evaluate({}), std::nullopt);
}

TEST(Dim, TextRoundTrips) {
  for (const Dim& dim :
       {Dim(-3), n, n * m * 2 - 7, floordiv(n + 1, m) * 3, max(n, m * 2) + min(n, m), Dim::symbol("a b-c")}) {
    EXPECT_EQ(Dim::parse(dim.text()), dim) << dim.text();
  }
  EXPECT_THROW(Dim::parse("n +"), Error);
  EXPECT_THROW(Dim::parse("99999999999999999999"), Error);
}

TEST(Dim, OverflowIsAnError) {
  EXPECT_THROW(Dim(int64_t{1} << 62) * 4, Error);
}

TEST(Dim, FreshSymbolsDiffer) {
  EXPECT_NE(Dim::fresh("x"), Dim::fresh("x"));
  EXPECT_TRUE((Dim::fresh("x") + n).has_fresh());
  EXPECT_FALSE(n.has_fresh());
}

}  // namespace
}  // namespace vernier
