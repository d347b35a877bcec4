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
  EXPECT_EQ(max(n, min(n, m)), n);
  EXPECT_EQ(min(n, max(n, m)), n);
}

// A decoder's lengths: what is new, n, beside m in a cache, and `all` that a mask has.
TEST(Dim, DecidesExtremaByTheCasesOfThoseInside) {
  const Dim all = Dim::symbol("all"), rows = max(max(all - m, 0), n);
  EXPECT_EQ(max(max(all, m + n), m + rows), m + rows);
  EXPECT_EQ(max(min(160, m + n) - min(160, m), n), n) << "no more of 160 rows than are new";
  EXPECT_NE(max(max(all, m + n), m + n), m + n) << "the mask may have more";
  EXPECT_NE(max(min(all, n), m), m);
  EXPECT_NE(max(n - m, 0), Dim(0));
  const Dim most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(max(min(most, n) - n, 0), Dim(0));
  EXPECT_EQ(min(most, max(most - n, m)).symbols().size(), 2U) << "numbers beyond 64 bits decide nothing";
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

TEST(Dim, OnlyDifferentIntegersCannotBeEqual) {
  EXPECT_FALSE(Dim(3).may_equal(4));
  EXPECT_TRUE(Dim(3).may_equal(3));
  EXPECT_TRUE(n.may_equal(3));
  EXPECT_TRUE(Dim(3).may_equal(n + m));
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
