// Tests what leaves the bodies of loops: what is rewritten, what is left, and what the reference makes of
// both.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

constexpr const char* kConstants = R"(
  const %yes = bool[] hex"01"
  const %zero = i64[] hex"0000000000000000"
  const %one = i64[] hex"0100000000000000"
  const %w = f32[2, 3] hex"0000803f0000004000004040000080400000a0400000c040"
  const %b = f32[3] hex"0000803f0000803f0000003f"
)";

// A graph with a Loop whose body takes (%i, %c, carried…) and gives (%c2, carried…, scanned…).
std::string with_loop(const std::string& signature, const std::string& made, const std::string& carried,
                      const std::string& body, const std::string& after = "") {
  return "graph \"g\" " + signature + " {" + kConstants + made + " = Loop(%trips, %yes, " + carried +
         ") version 24 @\"loop\" from [\"loop\"] regions { body = graph \"body\" " + body + "}\n" + after +
         "}";
}

// Checks what the pass makes of a loop, for each number of trips.
void expect_loop(const Pass& pass, const std::string& before, const std::string& after,
                 const std::vector<int64_t>& trip_counts, int line = __builtin_LINE()) {
  for (const int64_t trips : trip_counts)
    expect_pass({pass, {}, {remove_dead_code()}, {{"trips", Tensor::scalar(trips)}}}, before, after, line);
}

TEST(HoistLoopInvariants, WhatComesBackUnchangedLeavesTheLoop) {
  expect_loop(hoist_loop_invariants(),
              with_loop("(%x: f32[4, 2], %s: f32[4, 3], %trips: i64[]) -> (%y, %z)",
                        "%y: f32[*], %kept: f32[*]", "%s, %x", R"(
    (%i: i64[], %c: bool[], %state: f32[*], %k: f32[*]) -> (%c, %next, %k) {
      %e: f32[*] = Exp(%k) version 13 @"e" from ["e"]
      %p: f32[*] = MatMul(%e, %w) version 13 @"p" from ["p"]
      %next: f32[*] = Add(%state, %p) version 14 @"a" from ["a"]
    })",
                        "%z: f32[*] = Neg(%kept) version 13 @\"z\" from [\"z\"]"),
              R"(graph "g" (%x: f32[4, 2], %s: f32[4, 3], %trips: i64[]) -> (%y, %z) {
      const %yes = bool[] hex"01"
      const %w = f32[2, 3] hex"0000803f0000004000004040000080400000a0400000c040"
      %e: f32[4, 2] = Exp(%x) version 13 @"e" from ["e"]
      %p: f32[4, 3] = MatMul(%e, %w) version 13 @"p" from ["p"]
      %y: f32[4, 3] = Loop(%trips, %yes, %s) version 24 @"loop" from ["loop"] regions {
        body =
        graph "body" (%i: i64[], %c: bool[], %state: f32[4, 3]) -> (%c, %next) {
          %next: f32[4, 3] = Add(%state, %p) version 14 @"a" from ["a"]
        }
      }
      %z: f32[4, 2] = Neg(%x) version 13 @"z" from ["z"]
  })",
              {3, 0, 1});
}

TEST(HoistLoopInvariants, AnOutputOfTheGraphIsMadeByTheLoop) {
  expect_unchanged({hoist_loop_invariants()},
                   with_loop("(%x: f32[2], %trips: i64[]) -> (%kept)", "%kept: f32[*]", "%x", R"(
    (%i: i64[], %c: bool[], %k: f32[*]) -> (%c, %k) {})"));
}

TEST(HoistLoopInvariants, WhatMayFailStays) {
  // Without a trip nothing is divided by zero, and no row is out of range.
  expect_unchanged({hoist_loop_invariants()},
                   with_loop("(%s: f32[2], %n: i64[2], %d: i64[2], %trips: i64[]) -> (%y, %q, %g)",
                             "%y: f32[*], %q: i64[*], %g: f32[*]", "%s", R"(
    (%i: i64[], %c: bool[], %state: f32[*]) -> (%c, %next, %div, %row) {
      %div: i64[*] = Div(%n, %d) version 14 @"div" from ["div"]
      %row: f32[*] = Gather(%s, %n) version 13 @"row" from ["row"]
      %random: f32[*] = RandomUniformLike(%s) version 1 @"random" from ["random"]
      %next: f32[*] = Add(%state, %random) version 14 @"a" from ["a"]
    })"));
}

TEST(HoistLoopInvariants, OfLoopsInLoops) {
  expect_loop(hoist_loop_invariants(),
              with_loop("(%x: f32[2], %s: f32[2], %trips: i64[]) -> (%y)", "%y: f32[*]", "%s", R"(
    (%i: i64[], %c: bool[], %state: f32[*]) -> (%c, %next) {
      %next: f32[*] = Loop(%one, %yes, %state) version 24 @"inner" from ["inner"] regions {
        body = graph "innermost" (%j: i64[], %d: bool[], %t: f32[*]) -> (%d, %u) {
          %e: f32[*] = Exp(%x) version 13 @"e" from ["e"]
          %f: f32[*] = Exp(%state) version 13 @"f" from ["f"]
          %ef: f32[*] = Mul(%e, %f) version 14 @"ef" from ["ef"]
          %u: f32[*] = Add(%t, %ef) version 14 @"u" from ["u"]
        }
      }
    })"),
              R"(graph "g" (%x: f32[2], %s: f32[2], %trips: i64[]) -> (%y) {
      const %yes = bool[] hex"01"
      const %one = i64[] hex"0100000000000000"
      %e: f32[2] = Exp(%x) version 13 @"e" from ["e"]
      %y: f32[2] = Loop(%trips, %yes, %s) version 24 @"loop" from ["loop"] regions {
        body =
        graph "body" (%i: i64[], %c: bool[], %state: f32[2]) -> (%c, %next) {
          %f: f32[2] = Exp(%state) version 13 @"f" from ["f"]
          %ef: f32[2] = Mul(%e, %f) version 14 @"ef" from ["ef"]
          %next: f32[2] = Loop(%one, %yes, %state) version 24 @"inner" from ["inner"] regions {
            body =
            graph "innermost" (%j: i64[], %d: bool[], %t: f32[2]) -> (%d, %u) {
              %u: f32[2] = Add(%t, %ef) version 14 @"u" from ["u"]
            }
          }
        }
      }
  })",
              {3, 0});
}

constexpr const char* kRows = R"(
    (%i: i64[], %c: bool[], %state: f32[*], %time: i64[*]) -> (%c, %next, %later) {
      %row: f32[*] = Gather(%x, %time) version 13 @"row" from ["row"]
      %p: f32[*] = MatMul(%row, %w) version 13 @"p" from ["p"]
      %q: f32[*] = Add(%b, %p) version 14 @"q" from ["q"]
      %next: f32[*] = Add(%state, %q) version 14 @"a" from ["a"]
      %later: i64[*] = Add(%time, %STEP) version 14 @"t" from ["t"]
    })";

std::string rows_by(const std::string& step, const std::string& start) {
  std::string body = kRows;
  body.replace(body.find("%STEP"), 5, step);
  return with_loop("(%x: f32[5, 4, 2], %s: f32[4, 3], %trips: i64[]) -> (%y)", "%y: f32[*], %end: i64[*]",
                   "%s, " + start, body);
}

TEST(BatchLoopProducts, OneProductOfAllRows) {
  expect_loop(batch_loop_products(), rows_by("%one", "%zero"),
              R"(graph "g" (%x: f32[5, 4, 2], %s: f32[4, 3], %trips: i64[]) -> (%y) {
      const %yes = bool[] hex"01"
      const %zero = i64[] hex"0000000000000000"
      const %one = i64[] hex"0100000000000000"
      const %w = f32[2, 3] hex"0000803f0000004000004040000080400000a0400000c040"
      const %b = f32[3] hex"0000803f0000803f0000003f"
      %"p'": f32[5, 4, 3] = MatMul(%x, %w) version 13 @"p" from ["p"]
      %"q'": f32[5, 4, 3] = Add(%b, %"p'") version 14 @"q" from ["q"]
      %y: f32[4, 3], %end: i64[] = Loop(%trips, %yes, %s, %zero) version 24 @"loop" from ["loop"] regions {
        body =
        graph "body" (%i: i64[], %c: bool[], %state: f32[4, 3], %time: i64[]) -> (%c, %next, %later) {
          %q: f32[4, 3] = Gather(%"q'", %time) version 13 @"q/row" from ["q"]
          %next: f32[4, 3] = Add(%state, %q) version 14 @"a" from ["a"]
          %later: i64[] = Add(%time, %one) version 14 @"t" from ["t"]
        }
      }
  })",
              {5, 0, 2});
}

TEST(BatchLoopProducts, OtherRowsMayNeverCome) {
  expect_unchanged({batch_loop_products()}, rows_by("%zero", "%zero"));
  expect_unchanged({batch_loop_products()}, rows_by("%one", "%one"));
}

}  // namespace
}  // namespace vernier
