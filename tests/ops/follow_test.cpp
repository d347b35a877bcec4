#include "vernier/ops/support/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;
using testing::Optional;

constexpr auto kInt64 = ElementType::kInt64;
constexpr auto kInt8 = ElementType::kInt8;
constexpr auto kBool = ElementType::kBool;
constexpr auto kFloat = ElementType::kFloat;
constexpr auto kFloat16 = ElementType::kFloat16;
const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

TEST(Follow, PointwiseOperators) {
  struct Case {
    OneNode node;
    ElementType type;
    std::vector<std::vector<Dim>> inputs;
    std::optional<std::vector<Dim>> expected;
  };
  const AttributeMap to_float{{"to", int64_t{1}}}, to_int{{"to", int64_t{7}}}, to_half{{"to", int64_t{10}}},
      to_bool{{"to", int64_t{9}}};
  const Case cases[] = {
      {{"Add", 13}, kInt64, {{n, 3}, {1}}, {{n + 1, 4}}},
      {{"Add", 13}, kInt8, {{100}, {100}}, {}},  // wraps
      {{"Mul", 13}, kInt64, {{int64_t{1} << 62}, {4}}, {}},
      {{"Mul", 13}, kFloat, {{n, 3}, {2}}, {{n * 2, 6}}},
      {{"Mul", 13}, kFloat, {{1 << 20}, {1 << 20}}, {}},  // not exact in FLOAT
      {{"Div", 13}, kInt64, {{n, -7}, {2}}, {{floordiv(n, 2), -3}}},
      {{"Div", 13}, kInt64, {{n}, {0}}, {}},
      {{"Div", 13}, kFloat, {{n * 6}, {2}}, {{n * 3}}},
      {{"Div", 13}, kFloat, {{n}, {2}}, {}},
      {{"Mod", 13}, kInt64, {{n, -7}, {4}}, {{mod(n, 4), 1}}},
      {{"Mod", 13, {{"fmod", int64_t{1}}}}, kInt64, {{-7}, {4}}, {{-3}}},
      {{"Min", 13}, kInt64, {{n}, {n + 3}, {5}}, {{min(n, 5)}}},
      {{"Max", 13}, kInt64, {{n}, {m}}, {{max(n, m)}}},
      {{"Sum", 13}, kInt64, {{n}, {m}, {1}}, {{n + m + 1}}},
      {{"Neg", 13}, kInt64, {{n, -2}}, {{Dim(0) - n, 2}}},
      {{"Abs", 13}, kInt64, {{n, -2}}, {{n, 2}}},
      {{"Abs", 13}, kInt64, {{n - 2}}, {}},
      {{"Sign", 13}, kInt64, {{n + 1, 0, -4}}, {{1, 0, -1}}},
      {{"Relu", 14}, kInt64, {{n - 4}}, {{max(n - 4, 0)}}},
      {{"Clip", 13}, kInt64, {{n}, {2}, {8}}, {{min(max(n, 2), 8)}}},
      {{"Equal", 13}, kInt64, {{n, n, 3, n - m}, {-1, n, 4, 0}}, {}},
      {{"Equal", 13}, kInt64, {{n, n, 3}, {-1, n, 4}}, {{0, 1, 0}}},
      {{"Equal", 13}, kInt64, {{n}, {0}}, {}},  // a size may be zero
      {{"Less", 13}, kInt64, {{-1, n, 3}, {n, n, 4}}, {{1, 0, 1}}},
      {{"Greater", 13}, kInt64, {{n + 1}, {n}}, {{1}}},
      {{"GreaterOrEqual", 16}, kInt64, {{n, 3}, {0, 4}}, {{1, 0}}},
      {{"And", 7}, kBool, {{1, 1}, {1, 0}}, {{1, 0}}},
      {{"Not", 1}, kBool, {{1, 0}}, {{0, 1}}},
      {{"Cast", 13, to_float}, kInt64, {{n, 5}}, {{n, 5}}},
      {{"Cast", 13, to_int}, kFloat, {{n, 5}}, {{n, 5}}},
      {{"Cast", 13, to_half}, kInt64, {{n}}, {}},
      {{"Cast", 13, to_bool}, kInt64, {{n + 1, 0}}, {{1, 0}}},
      {{"Floor", 13}, kFloat, {{n}}, {{n}}},
      {{"Sqrt", 13}, kFloat, {{n}}, {}},
      {{"Softmax", 13}, kFloat, {{n}}, {}},
      {{"ReduceProd", 18}, kInt64, {{n, m, 2}}, {{n * m * 2}}},
      {{"ReduceMax", 18, {{"keepdims", int64_t{0}}}}, kInt64, {{n, n + 1}}, {{n + 1}}},
      {{"ReduceMean", 18}, kInt64, {{n, m}}, {}},
  };
  for (const Case& test : cases) {
    std::vector<ValueInfo> inputs;
    for (const auto& content : test.inputs) inputs.push_back(followed(test.type, content));
    EXPECT_EQ(test.node.infer(inputs).dims, test.expected)
        << test.node.op << " of " << shape_text(test.inputs[0]);
  }
}

TEST(Follow, WhereNeedsOnlyWhatItTakes) {
  const ValueInfo sizes = followed(kInt64, {n, -1, 7}), ones = followed(kInt64, {1});
  const ValueInfo unknown{ValueType::of(kInt64, Shape{3}), {}, {}},
      undecided{ValueType::of(kBool, Shape{3}), {}, {}};
  const OneNode where("Where", 16);
  EXPECT_THAT(where.infer({followed(kBool, {0, 1, 0}), ones, sizes}).dims,
              Optional(ElementsAre(n, Dim(1), Dim(7))));
  EXPECT_THAT(where.infer({followed(kBool, {0, 0, 0}), unknown, sizes}).dims,
              Optional(ElementsAre(n, Dim(-1), Dim(7))));
  EXPECT_FALSE(where.infer({followed(kBool, {0, 1, 0}), unknown, sizes}).dims);
  EXPECT_FALSE(where.infer({undecided, ones, sizes}).dims);
  EXPECT_THAT(where.infer({undecided, sizes, sizes}).dims, Optional(ElementsAre(n, Dim(-1), Dim(7))));
}

TEST(Follow, AFloatChainThatIsExact) {
  const OneNode to_float("Cast", 13, {{"to", int64_t{1}}}), to_int("Cast", 13, {{"to", int64_t{7}}});
  const ValueInfo scaled =
      OneNode("Mul", 13).infer({to_float.infer({followed(kInt64, {n})}), followed(kFloat, {2})});
  EXPECT_THAT(to_int.infer({OneNode("Floor", 13).infer({scaled})}).dims, Optional(ElementsAre(n * 2)));
}

TEST(Follow, ContentOfConstants) {
  EXPECT_THAT(content_of(floats({2}, {2, -3})), Optional(ElementsAre(Dim(2), Dim(-3))));
  EXPECT_FALSE(content_of(floats({2}, {2, 0.5})));
  EXPECT_FALSE(content_of(floats({1}, {std::numeric_limits<double>::quiet_NaN()})));
  EXPECT_FALSE(content_of(floats({1}, {1e20})));
  EXPECT_FALSE(content_of(reals_of(kFloat16, {1}, {2})));
}

TEST(TopK, OfAFollowedCount) {
  const ValueInfo x{ValueType::of(kFloat, Shape{n, 100}), {}, {}};
  EXPECT_EQ(OneNode("TopK", 11).infer({x, followed(kInt64, {m})}).type.tensor.shape, (Shape{n, m}));
}

}  // namespace
}  // namespace vernier::ops
