#include "vernier/compare/tolerance.h"

#include <gtest/gtest.h>

#include <limits>

namespace vernier {
namespace {

TEST(Tolerance, IsTheSumOfBothParts) {
  const Tolerance tolerance{0.5, 0.25, ""};
  EXPECT_TRUE(tolerance.accepts(1.5, -4));
  EXPECT_FALSE(tolerance.accepts(1.5000001, -4));
}

TEST(Tolerance, NeverAcceptsWhatIsNotFinite) {
  const Tolerance wide{1e308, 1e308, ""};
  EXPECT_TRUE(wide.accepts(1e300, 1e300));
  EXPECT_FALSE(wide.accepts(std::numeric_limits<double>::infinity(), 1e300));
  EXPECT_FALSE(wide.accepts(std::numeric_limits<double>::quiet_NaN(), 1));
}

TEST(Tolerance, DefaultsAreExactForAllButFloats) {
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    const Tolerance tolerance = default_tolerance(type);
    const bool approximate = (is_float(type) || is_complex(type)) && type != ElementType::kFloat8E8M0;
    EXPECT_EQ(tolerance.rtol > 0, approximate) << element_type_name(type);
    EXPECT_EQ(tolerance.atol > 0, approximate) << element_type_name(type);
    EXPECT_EQ(tolerance.source, "default for " + std::string(element_type_short_name(type)));
  }
}

TEST(Tolerance, NamedComesBeforeGeneralBeforeDefault) {
  Tolerances tolerances;
  EXPECT_EQ(tolerances.of("out", ElementType::kFloat).source, "default for f32");
  tolerances.atol.parse("1e-2");
  tolerances.atol.parse("a:b:0.5");
  EXPECT_EQ(tolerances.of("out", ElementType::kFloat).atol, 1e-2);
  EXPECT_EQ(tolerances.of("a:b", ElementType::kFloat).atol, 0.5);
  EXPECT_EQ(tolerances.of("a:b", ElementType::kFloat).rtol, default_tolerance(ElementType::kFloat).rtol);
  EXPECT_EQ(tolerances.of("a:b", ElementType::kFloat).source, "atol: --atol a:b:0.5, rtol: default for f32");
}

TEST(Tolerance, GeneralOnesDoNotReachIntegers) {
  Tolerances tolerances;
  tolerances.atol.parse("1");
  tolerances.rtol.parse("0.1");
  tolerances.atol.parse("quantized:1");
  EXPECT_EQ(tolerances.of("token", ElementType::kInt64).atol, 0);
  EXPECT_EQ(tolerances.of("token", ElementType::kInt64).rtol, 0);
  EXPECT_EQ(tolerances.of("quantized", ElementType::kInt8).atol, 1);
  EXPECT_EQ(tolerances.of("quantized", ElementType::kBool).atol, 0);
}

TEST(Tolerance, KnowsWhoGaveIt) {
  Tolerances tolerances;
  tolerances.atol.parse("ids:1");
  tolerances.rtol.parse("0.1");
  EXPECT_FALSE(Tolerances{}.of("y", ElementType::kFloat).by_user);
  EXPECT_TRUE(tolerances.of("y", ElementType::kFloat).by_user);
  EXPECT_TRUE(tolerances.of("ids", ElementType::kInt64).by_user);
  EXPECT_FALSE(tolerances.of("others", ElementType::kInt64).by_user);
  EXPECT_FALSE(tolerances.of("flags", ElementType::kBool).by_user);
}

TEST(Tolerance, SaysWhatItIsNotAppliedTo) {
  Tolerances tolerances;
  tolerances.atol.parse("2");
  tolerances.atol.parse("named:1");
  tolerances.atol.parse("flags:1");
  EXPECT_EQ(tolerances.not_applied("y", ElementType::kFloat), "");
  EXPECT_EQ(tolerances.not_applied("named", ElementType::kInt32), "");
  EXPECT_EQ(tolerances.not_applied("ids", ElementType::kInt64),
            "--atol 2 is not applied to 'ids' (i64): write ids:NUMBER for that");
  EXPECT_NE(tolerances.not_applied("flags", ElementType::kBool).find("--atol flags:1 is not applied"),
            std::string::npos);
}

TEST(Tolerance, MustApplyToSomeOutput) {
  Tolerances tolerances;
  const std::map<std::string, ElementType> integers = {{"ids", ElementType::kInt64},
                                                       {"flags", ElementType::kBool}};
  EXPECT_NO_THROW(tolerances.require_use(integers));
  tolerances.rtol.parse("0.1");
  EXPECT_THROW(tolerances.require_use(integers), Error);
  EXPECT_NO_THROW(tolerances.require_use({{"ids", ElementType::kInt64}, {"y", ElementType::kFloat}}));
  EXPECT_NO_THROW(tolerances.require_use({{"unknown", ElementType::kUndefined}}));
}

TEST(Tolerance, RefusesWhatIsNoTolerance) {
  for (const char* text :
       {"", "abc", "nan", "inf", "-1e-3", "1e-3x", "out:", ":1e-3", "out:nan", "1e999", " 1"}) {
    ToleranceOption option;
    EXPECT_THROW(option.parse(text), Error) << text;
  }
  ToleranceOption option;
  option.parse("0");
  option.parse("out:0");
  EXPECT_THROW(option.parse("1e-3"), Error);
  EXPECT_THROW(option.parse("out:1e-3"), Error);
}

}  // namespace
}  // namespace vernier
