// What sizes the inputs of a decoder have from token to token.
#include "vernier/bench/decoding.h"

#include <gmock/gmock.h>

#include "passes/rewriting.h"
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

TEST(DecoderSizes, NeedAnInputThatGrows) {
  Model model = parse_graph(R"(graph "g" (%x: f32[n, 4]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  EXPECT_THROW(DecoderSizes(*model.graph, {}), Error);
}

TEST(TimeDecoding, CountsTokensAndCachesThatGrowInPlace) {
  const Model model = decoder();
  const auto engine = Engine::build(model);
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
