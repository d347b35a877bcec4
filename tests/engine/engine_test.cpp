// Engines against the reference: sizes that change, control flow, data-dependent sizes, memory that is
// shared.
#include "engine/as_reference.h"

namespace vernier {
namespace {

TEST(Engine, SizesMayChangeFromRunToRun) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    const %w = f32[3, 2] hex"0000803f000000400000404000008040000000bf0000003f"
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"r" from ["r"]
  })");
  Session session(compile(model));
  for (const int64_t rows : {4, 1, 7, 4, 0, 1}) expect_as_reference(model, session, {{"x", ramp({rows, 3})}});
}

TEST(Engine, SizesThatOnlyRunningTells) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N]) -> (%y, %where) {
    %where: i64[*] = NonZero(%x) version 13 @"n" from ["n"]
    %t: i64[*] = Transpose(%where) version 24 @"t" from ["t"]
    %g: f32[*] = GatherND(%x, %t) version 13 @"g" from ["g"]
    %y: f32[*] = Exp(%g) version 13 @"e" from ["e"]
  })");
  Session session(compile(model));
  for (const int64_t size : {8, 3, 5}) expect_as_reference(model, session, {{"x", ramp({size})}});
}

TEST(Engine, ALoopReadsWhatIsAroundIt) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 4], %trips: i64[], %s: f32[4, 4]) -> (%y, %all) {
    const %yes = bool[] hex"01"
    %e: f32[*] = Exp(%x) version 13 @"e" from ["e"]
    %y: f32[*], %all: f32[*] = Loop(%trips, %yes, %s) version 24 @"loop" from ["loop"] regions {
      body =
      graph "body" (%i: i64[], %c: bool[], %state: f32[*]) -> (%c2, %next, %out) {
        %c2: bool[*] = Identity(%c) version 24 @"c" from ["c"]
        %p: f32[*] = MatMul(%state, %e) version 13 @"p" from ["p"]
        %next: f32[*] = Add(%state, %p) version 14 @"a" from ["a"]
        %out: f32[*] = Neg(%e) version 13 @"o" from ["o"]
      }
    }
  })");
  Session session(compile(model));
  for (const int64_t trips : {3, 0, 5}) {
    const auto small = Tensor::from_doubles(ElementType::kFloat, {4, 4}, std::vector<double>(16, 0.125));
    expect_as_reference(model, session,
                        {{"x", small}, {"trips", Tensor::scalar(trips)}, {"s", ramp({4, 4})}});
  }
}

TEST(Engine, ASequenceKeepsWhatWasPutIntoIt) {
  // The arena that a and b lie in is written again by the steps that follow.
  const Model model = parse_graph(R"(graph "g" (%x: f32[8, 8]) -> (%s, %y) {
    %a: f32[*] = MatMul(%x, %x) version 13 @"a" from ["a"]
    %b: f32[*] = MatMul(%a, %x) version 13 @"b" from ["b"]
    %s: seq(f32[*]) = SequenceConstruct(%a, %b) version 11 @"s" from ["s"]
    %c: f32[*] = MatMul(%b, %b) version 13 @"c" from ["c"]
    %d: f32[*] = MatMul(%c, %x) version 13 @"d" from ["d"]
    %y: f32[*] = MatMul(%d, %x) version 13 @"y" from ["y"]
  })");
  Session session(compile(model));
  const auto data = Tensor::from_doubles(ElementType::kFloat, {8, 8}, std::vector<double>(64, 0.125));
  expect_as_reference(model, session, {{"x", data}});
}

TEST(Engine, ASumMayNotOverwriteWhatTheProductReads) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 4], %w: f32[4, 4]) -> (%y) {
    %e: f32[*] = MatMul(%w, %w) version 13 @"e" from ["e"]
    %p: f32[*] = MatMul(%e, %x) version 13 @"p" from ["p"]
    %a: f32[*] = Add(%p, %e) version 14 @"a" from ["a"]
    %y: f32[*] = MatMul(%a, %w) version 13 @"y" from ["y"]
  })");
  Session session(compile(model));
  const auto quarter = Tensor::from_doubles(ElementType::kFloat, {4, 4}, std::vector<double>(16, 0.25));
  expect_as_reference(model, session, {{"x", quarter}, {"w", ramp({4, 4})}});
}

TEST(Engine, AnOutputMayBeAnInputAConstantOrGivenTwice) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 3]) -> (%x, %k, %v, %y) {
    const %k = f32[2] hex"0000803f00000040"
    const %to = i64[1] hex"ffffffffffffffff"
    %y: f32[*] = Exp(%x) version 13 @"e" from ["e"]
    %v: f32[*] = Reshape(%y, %to) version 24 @"v" from ["v"]
  })");
  Session session(compile(model));
  expect_as_reference(model, session, {{"x", ramp({2, 3})}});
  expect_as_reference(model, session, {{"x", ramp({2, 3})}});
}

TEST(Engine, ARunIsStoppedBeforeItsNextStep) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4, 4], %w: f32[4, 4]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
    %b: f32[*] = MatMul(%a, %x) version 13 @"b" from ["b"]
    %c: f32[*] = MatMul(%b, %w) version 13 @"c" from ["c"]
    %y: f32[*] = MatMul(%c, %x) version 13 @"y" from ["y"]
  })");
  Session session(compile(model));
  const std::vector<Datum> inputs = {ramp({4, 4}), ramp({4, 4})};
  std::atomic<bool> stop = false;
  size_t steps = 0, last = SIZE_MAX;
  Observer observer;
  observer.after = [&](const ObservedStep&, int64_t) { stop = ++steps == last; };
  std::vector<Datum> outputs;
  session.run(inputs, outputs, {.observer = &observer, .stop = &stop});
  const size_t all = steps;
  ASSERT_GE(all, 4U);
  for (last = 1; last < all; ++last) {
    steps = 0;
    stop = false;
    EXPECT_THROW(session.run(inputs, outputs, {.observer = &observer, .stop = &stop}), Stopped);
    EXPECT_EQ(steps, last);
  }
  steps = 0;
  stop = true;
  EXPECT_THROW(session.run(inputs, outputs, {.observer = &observer, .stop = &stop}), Stopped);
  EXPECT_EQ(steps, 0U);
  expect_as_reference(model, session, {{"x", ramp({4, 4})}, {"w", ramp({4, 4})}});
}

TEST(Engine, WrongInputsAreNamedAndTheSessionStaysUsable) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"e" from ["e"]
  })");
  Session session(compile(model));
  EXPECT_THROW(session.run({}), Error);
  EXPECT_THROW(session.run({{"x", ramp({3})}}), Error);
  EXPECT_THROW(session.run({{"x", Tensor(ElementType::kDouble, {1, 3})}}), Error);
  EXPECT_THROW(session.run({{"x", ramp({1, 3})}, {"z", ramp({1})}}), Error);
  expect_as_reference(model, session, {{"x", ramp({2, 3})}});
}

}  // namespace
}  // namespace vernier
