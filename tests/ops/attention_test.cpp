// Attention: rows without keys, caches, positions; what foreign input must not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::Each;
using testing::ElementsAre;

ValueInfo typed(const Shape& shape) {
  ValueInfo info;
  info.type = ValueType::of(ElementType::kFloat, shape);
  return info;
}

Tensor ones(const Dims& dims) {
  return floats(dims, std::vector<double>(static_cast<size_t>(element_count(dims)), 1));
}

TEST(Attention, ARowThatMayAttendNothingGivesZeros) {
  const Tensor mask = Tensor::from_ints(ElementType::kBool, {2, 2}, std::vector<int64_t>{0, 0, 1, 1});
  const auto y =
      OneNode("Attention", 24).reals({ones({1, 1, 2, 1}), ones({1, 1, 2, 1}), ones({1, 1, 2, 1}), mask});
  EXPECT_THAT(y, ElementsAre(0, 1));
}

TEST(Attention, InfiniteScoresOfForbiddenKeysDoNotCount) {
  const Tensor k = floats({1, 1, 2, 1}, {std::numeric_limits<double>::infinity(), 1}),
               v = floats({1, 1, 2, 1}, {5, 7});
  const Tensor mask = Tensor::from_ints(ElementType::kBool, {1, 2}, std::vector<int64_t>{0, 1});
  EXPECT_THAT(OneNode("Attention", 23).reals({ones({1, 1, 1, 1}), k, v, mask}), ElementsAre(7));
}

TEST(Attention, ShapesOfPackedHeadsAreFollowed) {
  const Dim b = Dim::symbol("b"), s = Dim::symbol("s");
  OneNode attention("Attention", 23, {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}});
  const auto y = attention.infer({typed({b, s, 32}), typed({b, s, 16}), typed({b, s, 12})});
  EXPECT_EQ(y.type.tensor.shape, (Shape{b, s, 24}));
}

TEST(Attention, OperandsThatDoNotFitAreRefused) {
  const OneNode attention("Attention", 24);
  EXPECT_THROW(attention.run({ones({1, 2, 3, 4}), ones({1, 2, 3, 5}), ones({1, 2, 3, 4})}), Error);
  EXPECT_THROW(attention.run({ones({1, 3, 3, 4}), ones({1, 2, 3, 4}), ones({1, 2, 3, 4})}), Error);
  EXPECT_THROW(attention.run({ones({1, 3, 4}), ones({1, 3, 4}), ones({1, 3, 4})}), Error);
  EXPECT_THROW(attention.run({ones({1, 2, 3, 4}), ones({1, 2, 3, 4}), ones({1, 2, 3, 4}), ones({5, 3})}),
               Error);
}

TEST(RotaryEmbedding, PositionsOutsideOfTheCacheAreRefused) {
  const auto rotate = [](int64_t position) {
    return OneNode("RotaryEmbedding", 1, {}, "com.microsoft")
        .run({ones({1, 2, 2}), ints({1}, {position}), ones({3, 1}), ones({3, 1})});
  };
  EXPECT_NO_THROW(rotate(1));
  for (const int64_t position : {int64_t{-1}, int64_t{2}, std::numeric_limits<int64_t>::max()})
    EXPECT_THROW(rotate(position), Error);
}

TEST(GroupQueryAttention, LengthsThatDoNotFitAreRefused) {
  const auto attend = [](int64_t last, int64_t longest) {
    OneNode node("GroupQueryAttention", 1, {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}},
                 "com.microsoft", 3);
    const auto number = [](Dims dims, int64_t value) {
      return Tensor::from_ints(ElementType::kInt32, std::move(dims), std::vector<int64_t>{value});
    };
    return node.run({ones({1, 1, 4}), ones({1, 1, 2}), ones({1, 1, 2}), ones({1, 1, 3, 2}),
                     ones({1, 1, 3, 2}), number({1}, last), number({}, longest)});
  };
  EXPECT_THAT(attend(3, 4)[0].to_doubles(), Each(1));
  EXPECT_EQ(attend(3, 4)[1].dims(), (Dims{1, 1, 4, 2}));
  EXPECT_EQ(attend(1, 2)[1].dims(), (Dims{1, 1, 3, 2}));
  EXPECT_THROW(attend(4, 4), Error);
  EXPECT_THROW(attend(-1, 4), Error);
  EXPECT_THROW(attend(3, std::numeric_limits<int32_t>::max()), Error);
}

TEST(GroupQueryAttention, FewerKeysThanQueriesAreRefused) {
  OneNode node("GroupQueryAttention", 1, {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}},
               "com.microsoft", 3);
  const auto number = [](Dims dims, int64_t value) {
    return Tensor::from_ints(ElementType::kInt32, std::move(dims), std::vector<int64_t>{value});
  };
  EXPECT_THROW(node.run({ones({1, 3, 4}), ones({1, 1, 2}), ones({1, 1, 2}), Tensor(), Tensor(),
                         number({1}, 2), number({}, 3)}),
               Error);
}

}  // namespace
}  // namespace vernier::ops
