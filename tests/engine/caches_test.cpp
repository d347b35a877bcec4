// Caches: outputs that lie in the memory of inputs, as a decoder's keys and values do from token to token.
#include "engine/cached_text.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Caches, HoldWhatARunWithoutThemYields) {
  for (const int64_t batch : {1, 3}) {
    for (const Model& model : {decoder(), onnx_attention(), microsoft_attention(), grouped_attention()})
      expect_as_without(model, compile(model), batch, 0);
  }
}

TEST(Caches, TakeWhatIsNotPutBehindThePastAsACopy) {
  const Model model = other_way();
  for (const int64_t batch : {1, 2}) expect_as_without(model, compile(model), batch, 4);
}

TEST(Caches, OfFixedOrdersOfSumsAreTheSame) {
  BuildOptions options;
  options.deterministic = true;
  const Model model = decoder();
  expect_as_without(model, compile(model, options), 2, 0);
}

TEST(Caches, OnlyNewRowsAreWritten) {
  constexpr int64_t kBatch = 2, kCapacity = 12, kOld = 4, kNew = 2;
  Text text(compile(decoder()), kBatch, kCapacity);
  text.run(noise({kBatch, kOld, 32}, 1, 1));
  const auto content = [&](size_t cache) {
    return std::vector<float>(text.values(cache), text.values(cache) + kBatch * kHeads * kCapacity * kSize);
  };
  const std::array<std::vector<float>, 2> before{content(0), content(1)};
  text.run(noise({kBatch, kNew, 32}, 2, 1));
  for (const size_t cache : {0, 1}) {
    const auto after = content(cache);
    for (int64_t at = 0; at < kBatch * kHeads * kCapacity; ++at) {
      const int64_t row = at % kCapacity;
      const bool is_new = row >= kOld && row < kOld + kNew;
      const auto first = before[cache].begin() + at * kSize;
      EXPECT_EQ(std::equal(first, first + kSize, after.begin() + at * kSize), !is_new) << cache << " " << at;
    }
  }
}

TEST(Caches, WithoutRoomAreRefusedAndStayAsTheyWere) {
  Text text(compile(decoder()), 1, 6);
  text.run(noise({1, 4, 32}, 1, 1));
  const Tensor before = text.rows(0);
  try {
    text.run(noise({1, 3, 32}, 2, 1));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("'past_k'"), HasSubstr("f32[1, 2, 6, 16]"), HasSubstr("f32[1, 2, 7, 16]")));
  }
  EXPECT_TRUE(before.identical(text.rows(0)));
  text.run(noise({1, 2, 32}, 3, 1));  // to the last row
  EXPECT_EQ(text.row_count(0), 6);
}

}  // namespace
}  // namespace vernier
