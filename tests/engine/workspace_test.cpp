// --workspace: a limit on working memory, and one arena for all plans of a session.
#include "vernier/engine/workspace.h"

#include <gmock/gmock.h>

#include "isa/needs.h"
#include "passes/rewriting.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

constexpr size_t kMiB = 1 << 20;

// The chain has N rows of 4 KiB each: two values are alive at a time.
Model chain() {
  return parse_graph(R"(graph "g" (%x: f32[N, 1024]) -> (%y) {
    %a: f32[*] = Softmax(%x) {axis = -1} version 13 @"first" from ["first"]
    %b: f32[*] = Transpose(%a) {perm = ints[1, 0]} version 13 @"second" from ["second"]
    %c: f32[*] = Softmax(%b) {axis = -1} version 13 @"third" from ["third"]
    %y: f32[*] = ReduceMax(%c) {keepdims = 0} version 18 @"last" from ["last"]
  })");
}

std::vector<ValueType> rows(int64_t count) {
  return {ValueType::of(ElementType::kFloat, to_shape(Dims{count, 1024}))};
}

NamedData data(int64_t count) {
  return {{"x", Tensor(ElementType::kFloat, {count, 1024})}};
}

Compiler compiler_for(size_t workspace, std::vector<ShapeProfile> profiles = {}) {
  BuildOptions options;
  options.workspace = workspace;
  options.profiles = std::move(profiles);
  return Compiler(chain(), options);
}

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    return error.what();
  }
  return "";
}

TEST(Workspace, IsAnAmountOfMemory) {
  EXPECT_EQ(parse_workspace("64"), 64 * kMiB);
  EXPECT_EQ(parse_workspace("64MiB"), 64 * kMiB);
  EXPECT_EQ(parse_workspace("1.5GiB"), 1536 * kMiB);
  EXPECT_EQ(parse_workspace("100KiB"), 102400U);
  EXPECT_EQ(parse_workspace("4096B"), 4096U);
  for (const char* text : {"", "B", "-1", "0", "many", "64MB", "1e30", "nan", "0.5B"})
    EXPECT_THROW(parse_workspace(text), Error) << text;
}

TEST(Workspace, WhatNeedsMoreIsRefusedWithWhatItNeedsAndWhere) {
  compiler_for(8 * kMiB).prepare(rows(256));
  const std::string text = refusal([] {
    compiler_for(kMiB, {{{{"x", {{1, 256, 256}, {1024, 1024, 1024}}}}}}).prepare(rows(256));
  });
  EXPECT_THAT(text,
              testing::HasSubstr("the plan for x f32[256, 1024] of profile 0 (x: 1..256..256x1024) needs"));
  EXPECT_THAT(text, testing::HasSubstr("and 1.00 MiB are allowed"));
  EXPECT_THAT(text, testing::HasSubstr("is alive at 'second'"));
  EXPECT_THAT(text, testing::HasSubstr("--workspace 2"));
}

// Products of floats in terms of bfloat16 need memory for the terms.
TEST(Workspace, ATacticThatNeedsTooMuchIsNotTaken) {
  VERNIER_NEEDS(kAmx);
  Model model = parse_graph(R"(graph "g" (%x: f32[512, 512], %w: f32[512, 64]) -> (%y) {
    %y: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
  })");
  model.graph->inputs[1]->constant = Tensor(ElementType::kFloat, {512, 64});
  BuildOptions options;
  options.timing_cache = std::make_shared<TimingCache>("here");
  const auto prepare = [&](size_t workspace) {
    options.workspace = workspace;
    Compiler compiler(model, options);
    compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(Dims{512, 512}))});
    return compiler.engine();
  };
  const std::string request = prepare(0)->tuning().results.at(0).request;
  options.timing_cache->put(request, TimingCache::Times{{"", 1}, {cpu::kTwoTerms, 1e-9}});
  options.tune.level = 1;
  const auto free = prepare(0);
  EXPECT_EQ(free->prepared()[0].plan->choices.tactics.at("y"), cpu::kTwoTerms);
  const size_t needed = free->prepared()[0].plan->arena_bytes;
  const auto limited = prepare(needed - 1);
  EXPECT_TRUE(limited->prepared()[0].plan->choices.tactics.empty());
  EXPECT_LT(limited->prepared()[0].plan->arena_bytes, needed);
}

TEST(Workspace, HoldsForSizesThatComeLater) {
  Session session(compiler_for(kMiB).engine());
  session.run(data(4));
  EXPECT_NE(refusal([&] { session.run(data(1000)); }), "");
  session.run(data(8));  // and the session goes on
}

TEST(Workspace, OneArenaServesAllPlansOfASession) {
  Compiler compiler = compiler_for(0);
  for (const int64_t count : {200, 300, 400, 500}) compiler.prepare(rows(count));
  const auto engine = compiler.engine();
  Session session(engine);
  const size_t bytes = session.bytes();
  for (const int64_t count : {500, 200, 300, 400, 1}) session.run(data(count));
  EXPECT_EQ(session.bytes(), bytes);
  EXPECT_LT(bytes, engine->prepared()[3].plan->arena_bytes + 2 * kMiB);  // whole huge pages
}

}  // namespace
}  // namespace vernier
