// What leaves the bodies of loops: what is rewritten, what is left, and what the reference makes of both.
#include "passes/rewriting.h"

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

struct Rewritten {
  Model before, after;
  std::map<std::string, int> fired;
  std::string around, inside;
};

Rewritten run(const std::string& text, std::vector<Pass> passes) {
  Rewritten made{parse_graph(text), parse_graph(text), {}, {}, {}};
  passes.push_back(remove_dead_code());
  made.fired = rewrite(made.after, passes);
  made.around = operators(*made.after.graph);
  for (const auto& node : made.after.graph->nodes()) {
    if (const Graph* body = node->region("body")) made.inside = operators(*body);
  }
  return made;
}

// For so many trips, on the same data.
void expect_same(const Rewritten& made, const std::vector<int64_t>& trip_counts) {
  for (const int64_t trips : trip_counts) {
    auto data = random_data(*made.before.graph, 7);
    data["trips"] = Tensor::scalar(trips);
    const auto a = run_reference(made.before, data).outputs, b = run_reference(made.after, data).outputs;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(a[i].tensor.identical(b[i].tensor)) << "output " << i << " of " << trips << " trips";
  }
}

TEST(HoistLoopInvariants, WhatComesBackUnchangedLeavesTheLoop) {
  const auto made = run(with_loop("(%x: f32[4, 2], %s: f32[4, 3], %trips: i64[]) -> (%y, %z)",
                                  "%y: f32[*], %kept: f32[*]", "%s, %x", R"(
    (%i: i64[], %c: bool[], %state: f32[*], %k: f32[*]) -> (%c, %next, %k) {
      %e: f32[*] = Exp(%k) version 13 @"e" from ["e"]
      %p: f32[*] = MatMul(%e, %w) version 13 @"p" from ["p"]
      %next: f32[*] = Add(%state, %p) version 14 @"a" from ["a"]
    })",
                                  "%z: f32[*] = Neg(%kept) version 13 @\"z\" from [\"z\"]"),
                        {hoist_loop_invariants()});
  EXPECT_EQ(made.around, "Exp MatMul Loop Neg");
  EXPECT_EQ(made.inside, "Add");
  EXPECT_EQ(made.fired.at("hoist-loop-invariants"), 3);
  EXPECT_EQ(made.after.graph->nodes()[1]->name, "p");
  EXPECT_EQ(made.after.graph->nodes()[1]->output(0)->name, "p");
  EXPECT_EQ(made.after.graph->nodes()[1]->provenance, Provenance{"p"});
  expect_same(made, {3, 0, 1});
}

TEST(HoistLoopInvariants, AnOutputOfTheGraphIsMadeByTheLoop) {
  const auto made = run(with_loop("(%x: f32[2], %trips: i64[]) -> (%kept)", "%kept: f32[*]", "%x", R"(
    (%i: i64[], %c: bool[], %k: f32[*]) -> (%c, %k) {})"),
                        {hoist_loop_invariants()});
  EXPECT_FALSE(made.fired.contains("hoist-loop-invariants"));
  expect_same(made, {0, 2});
}

TEST(HoistLoopInvariants, WhatMayFailStays) {
  // Without a trip nothing is divided by zero, and no row is out of range.
  const auto made = run(with_loop("(%s: f32[2], %n: i64[2], %d: i64[2], %trips: i64[]) -> (%y, %q, %g)",
                                  "%y: f32[*], %q: i64[*], %g: f32[*]", "%s", R"(
    (%i: i64[], %c: bool[], %state: f32[*]) -> (%c, %next, %div, %row) {
      %div: i64[*] = Div(%n, %d) version 14 @"div" from ["div"]
      %row: f32[*] = Gather(%s, %n) version 13 @"row" from ["row"]
      %random: f32[*] = RandomUniformLike(%s) version 1 @"random" from ["random"]
      %next: f32[*] = Add(%state, %random) version 14 @"a" from ["a"]
    })"),
                        {hoist_loop_invariants()});
  EXPECT_EQ(made.inside, "Div Gather RandomUniformLike Add");
}

TEST(HoistLoopInvariants, OfLoopsInLoops) {
  const auto made = run(with_loop("(%x: f32[2], %s: f32[2], %trips: i64[]) -> (%y)", "%y: f32[*]", "%s", R"(
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
                        {hoist_loop_invariants()});
  EXPECT_EQ(made.around, "Exp Loop");
  EXPECT_EQ(made.inside, "Exp Mul Loop");
  expect_same(made, {3, 0});
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
  const auto made = run(rows_by("%one", "%zero"), {batch_loop_products()});
  EXPECT_EQ(made.around, "MatMul Add Loop");
  EXPECT_EQ(made.inside, "Gather Add Add");
  EXPECT_EQ(made.fired.at("batch-loop-products"), 2);
  expect_same(made, {5, 0, 2});
}

TEST(BatchLoopProducts, OtherRowsMayNeverCome) {
  EXPECT_EQ(run(rows_by("%zero", "%zero"), {batch_loop_products()}).around, "Loop");
  EXPECT_EQ(run(rows_by("%one", "%one"), {batch_loop_products()}).around, "Loop");
}

}  // namespace
}  // namespace vernier
