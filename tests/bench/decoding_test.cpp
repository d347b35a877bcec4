// Tests what sizes the inputs of a decoder have from token to token.
#include "vernier/bench/decoding.h"

#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// Rows that grow behind a past under a mask, and what an encoder made, whose length is its own.
Model decoder() {
  Model model = parse_graph(
      R"(graph "g" (%x: f32[batch, sequence, 4], %past: f32[batch, past, 4], %mask: i64[batch, total], %frames: f32[batch, frames, 4]) -> (%y, %present) {
    const %axis = i64[1] hex"0200000000000000"
    const %rows = i64[1] hex"0100000000000000"
    %present: f32[*] = Concat(%past, %x) {axis = 1} version 13 @"grow" from ["grow"]
    %kept: f32[*] = Cast(%mask) {to = 1} version 13 @"kept" from ["kept"]
    %wide: f32[*] = Unsqueeze(%kept, %axis) version 13 @"wide" from ["wide"]
    %seen: f32[*] = Mul(%present, %wide) version 14 @"seen" from ["seen"]
    %heard: f32[*] = ReduceSum(%frames, %rows) version 13 @"heard" from ["heard"]
    %y: f32[*] = Add(%seen, %heard) version 14 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  return model;
}

TEST(DecoderSizes, FollowThoseOfTheCaches) {
  const Model model = decoder();
  const DecoderSizes sizes(*model.graph, {{"batch", 2}});
  ASSERT_EQ(sizes.caches().size(), 1);
  EXPECT_EQ(sizes.caches()[0].input, 1);
  EXPECT_EQ(sizes.caches()[0].output, 1);
  EXPECT_EQ(sizes.masks(), std::vector<size_t>{2});
  EXPECT_FALSE(sizes.takes_one_row());
  const auto at = sizes.at(7, 3);
  EXPECT_EQ(at.at("x"), (Dims{2, 3, 4}));
  EXPECT_EQ(at.at("past"), (Dims{2, 7, 4}));
  EXPECT_EQ(at.at("mask"), (Dims{2, 10}));
  EXPECT_EQ(at.at("frames"), sizes.at(8, 1).at("frames"));
}

TEST(DecoderSizes, OfWhatIsGivenStay) {
  const Model model = decoder();
  EXPECT_EQ(DecoderSizes(*model.graph, {{"frames", 50}}).at(7, 1).at("frames"), (Dims{1, 50, 4}));
}

// The operator makes the larger of its past and what the mask has; both caches are of one size.
TEST(DecoderSizes, FollowWhatATotalSays) {
  Model model = parse_graph(
      R"(graph "g" (%q: f32[batch, sequence, 32], %mask: i64[batch, total], %past_k: f32[batch, 2, past, 16], %past_v: f32[batch, 2, past, 16]) -> (%y, %present_v, %present_k) {
    const %one = i64[1] hex"0100000000000000"
    %count: i64[*] = ReduceSum(%mask, %one) {keepdims = 0} version 13 @"count" from ["count"]
    %last64: i64[*] = Sub(%count, %one) version 14 @"last64" from ["last64"]
    %last: i32[*] = Cast(%last64) {to = 6} version 13 @"last" from ["last"]
    %sizes: i64[*] = Shape(%mask) version 13 @"sizes" from ["sizes"]
    %total64: i64[*] = Gather(%sizes, %one) {axis = 0} version 13 @"total64" from ["total64"]
    %all: i32[*] = Cast(%total64) {to = 6} version 13 @"all" from ["all"]
    %y: f32[*], %present_k: f32[*], %present_v: f32[*] = com.microsoft::GroupQueryAttention(%q, %q, %q, %past_k, %past_v, %last, %all) {num_heads = 2, kv_num_heads = 2} version 1 @"a" from ["a"]
  })");
  ops::infer_types(*model.graph);
  const DecoderSizes sizes(*model.graph, {});
  ASSERT_EQ(sizes.caches().size(), 2);
  EXPECT_EQ(sizes.caches()[0].input, 3);  // of %present_v
  EXPECT_EQ(sizes.caches()[1].input, 2);
  EXPECT_EQ(sizes.masks(), std::vector<size_t>{1});
  const auto at = sizes.at(7, 3);
  EXPECT_EQ(at.at("q"), (Dims{1, 3, 32}));
  EXPECT_EQ(at.at("mask"), (Dims{1, 10}));
  EXPECT_EQ(at.at("past_k"), (Dims{1, 2, 7, 16}));
}

// A model whose present may be as long as either of two sizes says cannot be run token by token.
TEST(DecoderSizes, NeedOneSizeByWhichRowsCome) {
  Model model = parse_graph(
      R"(graph "g" (%x: f32[one, 4], %y: f32[other, 4], %past: f32[past, 4]) -> (%present) {
    %present: f32[*] = Concat(%past, %x, %y) {axis = 0} version 13 @"grow" from ["grow"]
  })");
  ops::infer_types(*model.graph);
  EXPECT_THROW(DecoderSizes(*model.graph, {}), Error);
}

TEST(DecoderSizes, NeedAnInputThatGrows) {
  Model model = parse_graph(R"(graph "g" (%x: f32[n, 4]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  EXPECT_THROW(DecoderSizes(*model.graph, {}), Error);
}

TEST(TimeDecoding, CountsTokensAndCachesThatGrowInPlace) {
  const Model model = decoder();
  const auto engine = compile(model);
  const DecoderSizes sizes(engine->graph(), {});
  const auto draw = [&](const DecoderSizes::Sizes& wanted) {
    NamedData data;
    for (const Value* input : engine->graph().inputs)
      data[input->name] = Tensor(input->type.tensor.element, wanted.at(input->name));
    return data;
  };
  const DecodingResult result = time_decoding(engine, sizes, {.prompt = 3, .tokens = 5}, draw);
  EXPECT_EQ(result.caches, 1);
  EXPECT_EQ(result.appended, 1);
  for (const DecodingTimes* times : {&result.first, &result.again}) {
    EXPECT_EQ(times->prompt.size(), 1);
    EXPECT_EQ(times->tokens.size(), 5);
  }
}

}  // namespace
}  // namespace vernier
