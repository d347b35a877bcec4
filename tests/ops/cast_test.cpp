#include "vernier/ops/support/cast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;
using testing::IsNan;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor text(const std::vector<std::string>& values) {
  return Tensor::from<std::string>(ElementType::kString, {static_cast<int64_t>(values.size())}, values);
}

std::vector<std::string> text_of(const Tensor& tensor) {
  const auto values = tensor.values<std::string>();
  return {values.begin(), values.end()};
}

TEST(Cast, TakesEveryTypeToEveryOther) {
  for (int from = 1; from < kElementTypeCount; ++from) {
    const auto source = static_cast<ElementType>(from);
    const Tensor x = source == ElementType::kString ? text({"1", "0"}) : cast(floats({2}, {1, 0}), source);
    for (int to = 1; to < kElementTypeCount; ++to) {
      const auto target = static_cast<ElementType>(to);
      if ((is_complex(source) && target == ElementType::kString) ||
          (is_complex(target) && source == ElementType::kString))
        continue;
      const Tensor y = OneNode("Cast", 25, {{"to", int64_t{to}}}).run({x})[0];
      ASSERT_EQ(y.type(), target);
      // FLOAT8E8M0 has no zero.
      if (source == ElementType::kFloat8E8M0 || target == ElementType::kFloat8E8M0) continue;
      EXPECT_THAT(cast(y, ElementType::kDouble).to_doubles(), ElementsAre(1, 0))
          << element_type_name(source) << " to " << element_type_name(target);
    }
  }
}

TEST(Cast, OfNanAndInfinityToIntegersDoesNotCrash) {
  for (int to = 1; to < kElementTypeCount; ++to) {
    const Tensor x = floats({4}, {kNan, kInf, -kInf, 1e30});
    EXPECT_NO_THROW(OneNode("Cast", 25, {{"to", int64_t{to}}}).run({x}))
        << element_type_name(static_cast<ElementType>(to));
  }
}

TEST(Cast, RoundsOnce) {
  // Just above the middle of two floats; as a double it would lie on the middle.
  const int64_t value = (int64_t{1} << 53) + (int64_t{1} << 29) + 1;
  EXPECT_EQ(cast(ints({1}, {value}), ElementType::kFloat).to_doubles()[0], 0x1p53 + 0x1p30);
  EXPECT_EQ(cast(ints({1}, {-value}), ElementType::kFloat).to_doubles()[0], -0x1p53 - 0x1p30);
  const Tensor largest =
      Tensor::from<uint64_t>(ElementType::kUint64, {1}, {std::numeric_limits<uint64_t>::max()});
  EXPECT_EQ(cast(largest, ElementType::kFloat).to_doubles()[0], 0x1p64);
  EXPECT_EQ(cast(largest, ElementType::kInt8).to_ints()[0], -1);
}

TEST(Cast, SaturatesEightBitFloatsUnlessToldNot) {
  const Tensor x = floats({3}, {1e6, -kInf, kNan});
  struct Case {
    ElementType type;
    double largest;
    bool infinite;
  };
  for (const auto& [type, largest, infinite] :
       {Case{ElementType::kFloat8E4M3FN, 448, false}, Case{ElementType::kFloat8E4M3FNUZ, 240, false},
        Case{ElementType::kFloat8E5M2, 57344, true}, Case{ElementType::kFloat8E5M2FNUZ, 57344, false}}) {
    EXPECT_THAT(cast(x, type).to_doubles(), ElementsAre(largest, -largest, IsNan()));
    const auto open = cast(x, type, {.saturate = false}).to_doubles();
    if (infinite)
      EXPECT_THAT(open, ElementsAre(kInf, -kInf, IsNan()));
    else
      EXPECT_THAT(open, ElementsAre(IsNan(), IsNan(), IsNan()));
  }
}

TEST(Cast, RoundsScalesAsAsked) {
  const Tensor x = floats({5}, {1, 1.25, 1.5, kInf, 0});
  const auto scales = [&](const char* mode, bool saturate) {
    return cast(x, ElementType::kFloat8E8M0, {saturate, mode}).to_doubles();
  };
  EXPECT_THAT(scales("up", true), ElementsAre(1, 2, 2, 0x1p127, 0x1p-127));
  EXPECT_THAT(scales("down", true), ElementsAre(1, 1, 1, 0x1p127, 0x1p-127));
  EXPECT_THAT(scales("nearest", false), ElementsAre(1, 1, 2, IsNan(), IsNan()));
}

TEST(Cast, ReadsAndWritesText) {
  const Tensor x = text({"3.14", " 1e-5", "+INF", "-inf", "NaN", "1000"});
  EXPECT_THAT(cast(x, ElementType::kDouble).to_doubles(),
              ElementsAre(3.14, 1e-5, kInf, -kInf, IsNan(), 1000));
  EXPECT_THAT(cast(text({"9223372036854775807", "-12", "100.5"}), ElementType::kInt64).to_ints(),
              ElementsAre(std::numeric_limits<int64_t>::max(), -12, 100));
  for (const char* wrong : {"", "Hello", "1 2", "+-1", "0x10"})
    EXPECT_THROW(cast(text({wrong}), ElementType::kFloat), Error) << wrong;
  EXPECT_THAT(text_of(cast(floats({4}, {0.1, 1, 1e-5, kNan}), ElementType::kString)),
              ElementsAre("0.1", "1.0", "1e-05", "nan"));
  EXPECT_THAT(text_of(cast(reals_of(ElementType::kFloat16, {2}, {0.1, 2048}), ElementType::kString)),
              ElementsAre("0.1", "2048.0"));
  EXPECT_THAT(text_of(cast(ints({2}, {-7, 7}), ElementType::kString)), ElementsAre("-7", "7"));
}

TEST(Cast, BetweenFloatsIsTheIdentityInIdealMode) {
  const OneNode to_float8("Cast", 19, {{"to", static_cast<int64_t>(ElementType::kFloat8E4M3FN)}});
  const Tensor x = reals_of(ElementType::kDouble, {2}, {0.3, 1e6});
  EXPECT_THAT(to_float8.reals({x}), ElementsAre(0.3125, 448));
  EXPECT_THAT(to_float8.reals({x}, ReferenceMode::kIdeal), ElementsAre(0.3, 1e6));
}

TEST(BitCast, KeepsTheBitsOfNarrowTypes) {
  const OneNode to_int4("BitCast", 26, {{"to", static_cast<int64_t>(ElementType::kInt4)}});
  EXPECT_THAT(to_int4.reals({reals_of(ElementType::kUint4, {2}, {15, 7})}), ElementsAre(-1, 7));
  const OneNode to_bool("BitCast", 26, {{"to", static_cast<int64_t>(ElementType::kBool)}});
  EXPECT_THAT(to_bool.reals({reals_of(ElementType::kUint8, {2}, {2, 0})}), ElementsAre(1, 0));
  const OneNode to_int32("BitCast", 26, {{"to", static_cast<int64_t>(ElementType::kInt32)}});
  EXPECT_THAT(to_int32.reals({floats({1}, {1})}, ReferenceMode::kIdeal), ElementsAre(0x3f800000));
}

}  // namespace
}  // namespace vernier::ops
