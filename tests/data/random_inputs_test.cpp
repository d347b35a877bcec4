#include "vernier/data/random/random_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/small_models.h"

namespace vernier {
namespace {

const InputShapes kIdsShape{{"ids", {4, 64}}};

// The first sample under `shapes`.
Sample draw(const Model& model, const InputShapes& shapes = {}, uint64_t seed = 1) {
  RandomOptions options;
  options.seed = seed;
  if (!shapes.empty()) options.shapes = {shapes};
  return *RandomInputs(model, options).next();
}

std::pair<double, double> range_of(const Sample& sample, const std::string& input) {
  const auto values = sample.inputs.at(input).tensor.to_doubles();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

void expect_mask(const Tensor& mask) {
  const auto values = mask.to_doubles();
  const auto width = static_cast<size_t>(mask.dims().back());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(values[i] == 0 || values[i] == 1);
    if (i % width == 0)
      EXPECT_EQ(values[i], 1) << "row " << i / width;
    else
      EXPECT_LE(values[i], values[i - 1]) << "ones come first";
  }
}

// F11: ids cover the vocabulary instead of being 0 or 1, and several shapes are tried.
TEST(RandomInputs, F11IndicesCoverTheirTable) {
  const Model model =
      small_model("%ids: i64[N, sequence]",
                  {"%i: i64[N, sequence, 1] = Unsqueeze(%ids)", "%j: i32[N, sequence, 1] = Cast(%i)",
                   "%y: f32[N, sequence, 1, 2] = Gather(%table, %j) {axis = 0}"},
                  "%y", {"%table = f32[5, 2] hex\"" + std::string(80, '0') + "\""});
  const Sample sample = draw(model, kIdsShape);
  EXPECT_EQ(range_of(sample, "ids"), std::pair(0.0, 4.0));
  EXPECT_EQ(sample.drawn.at("ids"), "i64 in [0, 4]: indices of Gather 'n2'");
  RandomInputs source(model, {});
  EXPECT_EQ(source.sample_count(), 4u);
  std::set<Dims> shapes;
  while (const auto next = source.next()) shapes.insert(next->inputs.at("ids").tensor.dims());
  EXPECT_EQ(shapes, (std::set<Dims>{{1, 1}, {8, 16}, {16, 128}, {3, 7}}));
}

// F12: every input has its own numbers, which other inputs do not change, and none is below zero where it
// indexes.
TEST(RandomInputs, F12EveryInputHasItsOwnStream) {
  const Sample both = draw(small_model("%a: f32[100], %b: f32[100]")),
               alone = draw(small_model("%b: f32[100]"));
  EXPECT_FALSE(both.inputs.at("a").tensor.identical(both.inputs.at("b").tensor));
  EXPECT_TRUE(both.inputs.at("b").tensor.identical(alone.inputs.at("b").tensor));
  EXPECT_FALSE(
      draw(small_model("%b: f32[100]"), {}, 2).inputs.at("b").tensor.identical(alone.inputs.at("b").tensor));
  const auto [low, high] = range_of(both, "a");
  EXPECT_GE(low, -1);
  EXPECT_LT(low, -0.8);
  EXPECT_LT(high, 1);
}

TEST(RandomInputs, BitsAreTheSameEverywhere) {
  RandomOptions options;
  const Model model = small_model("%x: f64[2], %n: i64[3]");
  const Sample sample = *RandomInputs(model, options).next();
  const auto x = sample.inputs.at("x").tensor.to_doubles();
  EXPECT_EQ(fmt::format("{:a} {:a}", x[0], x[1]), "-0x1.60d8c2abb2fbp-1 -0x1.c77af8a16f924p-1");
  EXPECT_EQ(sample.inputs.at("n").tensor.to_ints(), (std::vector<int64_t>{6, 5, 7}));
}

TEST(RandomInputs, FollowsOffsetsControlFlowAndDynamicTables) {
  // Positions are shifted by two before they index, inside a branch, a table that is an input itself.
  const Model model = small_model(
      "%ids: i64[N, 64], %table: f32[rows, 3], %flag: bool[]",
      {"%shifted: i64[N, 64] = Add(%ids, %two)",
       "%y: f32[N, 64, 3] = If(%flag) regions { then_branch = graph \"t\" () -> (%t) { %t: f32[N, 64, 3] = "
       "Gather(%table, %shifted) version 17 @\"inner\" from [\"inner\"] } else_branch = graph \"e\" () -> () "
       "{ } }"},
      "", {"%two = i64[] hex\"0200000000000000\""});
  const Sample sample = draw(model, {{"ids", {8, 64}}, {"table", {10, 3}}});
  EXPECT_EQ(range_of(sample, "ids"), std::pair(-2.0, 7.0));
}

TEST(RandomInputs, SeesMasksThroughArithmetic) {
  const Model model = small_model(
      "%plain: i64[N, 64], %flag: bool[N, 64], %added: f32[N, 64], %scores: f32[N, 64], %key_mask: f32[N, "
      "64], %hides: bool[N, 64]",
      {"%f: f32[N, 64] = Cast(%plain)", "%g: f32[N, 64] = Sub(%one, %f)", "%h: f32[N, 64] = Mul(%g, %big)",
       "%w: f32[N, 64] = Where(%flag, %scores, %big)", "%s: f32[N, 64] = Add(%scores, %added)",
       "%p: f32[N, 64] = Softmax(%s)", "%v: f32[N, 64] = Where(%hides, %big, %p)"},
      "", {"%one = f32[] hex\"0000803f\"", "%big = f32[] hex\"00401cc6\""});  // -10000
  const Sample sample = draw(model, {{"plain", {16, 64}}});
  for (const char* name : {"plain", "flag", "added", "key_mask", "hides"})
    expect_mask(sample.inputs.at(name).tensor);
  const auto hides = sample.inputs.at("hides").tensor.to_doubles();
  for (size_t row = 0; row < 16; ++row) EXPECT_EQ(hides[row * 64 + 63], 0) << "something stays visible";
}

TEST(RandomInputs, LengthsReachTheLongestAndNotBeyond) {
  const Model model = small_model(
      "%x: f32[time, N, 4], %lens: i32[N], %input_lengths: i64[N]",
      {"%y: f32[time, 1, N, 4] = LSTM(%x, %x, %x, _, %lens)", "%r: i64[time] = Range(%lens, %lens, %lens)",
       "%b: bool[N, time] = Less(%r, %input_lengths)"});
  const Sample sample = draw(model, {{"x", {9, 200, 4}}});
  EXPECT_EQ(range_of(sample, "lens"), std::pair(1.0, 9.0));
  EXPECT_EQ(range_of(sample, "input_lengths"), std::pair(1.0, 9.0));
  EXPECT_EQ(sample.inputs.at("lens").tensor.to_ints()[0], 9);
}

TEST(RandomInputs, KeepsFunctionsInTheirDomain) {
  const Model model =
      small_model("%a: f32[100], %b: f32[100], %c: f32[100], %d: f32[100], %e: f32[100]",
                  {"%l: f32[100] = Log(%a)", "%m: f32[100] = Sub(%one, %a)", "%n: f32[100] = Log(%m)",
                   "%o: f32[100] = Div(%c, %b)", "%p: f32[100] = Relu(%d)", "%q: f32[100] = Sqrt(%p)",
                   "%r: f32[100] = Pow(%e, %half)"},
                  "", {"%one = f32[] hex\"0000803f\"", "%half = f32[] hex\"0000003f\""});
  const Sample sample = draw(model);
  EXPECT_GT(range_of(sample, "a").first, 0);
  EXPECT_LT(range_of(sample, "a").second, 1);
  EXPECT_GT(range_of(sample, "b").first, 0);
  EXPECT_LT(range_of(sample, "c").first, 0);
  EXPECT_LT(range_of(sample, "d").first, 0);
  EXPECT_GT(range_of(sample, "e").first, 0);
}

// They are known by their roles, of whatever operator.
TEST(RandomInputs, AxesAndScalesAreWhatTheyMayBe) {
  const Model model =
      small_model("%x: f32[2, 3, 4], %axes: i64[1], %codes: u8[4, 4], %scale: f32[4], %zero: u8[]",
                  {"%p: f32[*] = ReduceProd(%x, %axes)",
                   "%q: u8[4, 4] = QLinearMatMul(%codes, %one, %zero, %codes, %scale, %zero, %scale, %zero)"},
                  "", {"%one = f32[] hex\"0000803f\""});
  const Sample sample = draw(model);
  EXPECT_GE(range_of(sample, "axes").first, 0);
  EXPECT_LE(range_of(sample, "axes").second, 2);
  EXPECT_GT(range_of(sample, "scale").first, 0);
}

TEST(RandomInputs, OtherTypesGetValuesThatSuitThem) {
  const Model model = small_model(
      "%rate: i64[], %pixels: u8[100], %code: i32[100], %text: string[3], %z: c64[2], %f8: f8e4m3fn[20], "
      "%shape: i64[3], %x: f32[2]",
      {"%is: bool[] = Equal(%rate, %k)", "%y: f32[*] = Reshape(%x, %shape)"}, "",
      {"%k = i64[] hex\"803e000000000000\""});
  const Sample sample = draw(model);
  EXPECT_EQ(range_of(sample, "rate").first, 16000);
  EXPECT_GT(range_of(sample, "pixels").second, 200);
  EXPECT_EQ(range_of(sample, "code"), std::pair(0.0, 7.0));
  EXPECT_FALSE(sample.inputs.at("text").tensor.values<std::string>()[0].empty());
  EXPECT_EQ(sample.inputs.at("shape").tensor.to_ints(), (std::vector<int64_t>{-1, 1, 1}));
}

TEST(RandomInputs, ValueRangesOverrule) {
  RandomOptions options;
  options.ranges = parse_value_ranges({"x:[5,6]", "[2,3]"});
  const Model model = small_model("%x: f32[50], %n: i64[50]", {"%l: f32[50] = Log(%x)"});
  const Sample sample = *RandomInputs(model, options).next();
  EXPECT_GE(range_of(sample, "x").first, 5);
  EXPECT_EQ(range_of(sample, "n"), std::pair(2.0, 3.0));
  options.ranges = parse_value_ranges({"n:[0.2,0.8]"});
  EXPECT_THROW(RandomInputs(model, options).next(), Error);
  options.ranges = parse_value_ranges({"m:[0,1]"});
  EXPECT_THROW(RandomInputs(model, options), Error);
}

// A list whose elements the graph takes apart, each for a purpose of its own.
TEST(RandomInputs, ElementsOfAListMayMeanDifferentThings) {
  const Model model =
      small_model("%config: f32[3], %x: f32[N, 9]",
                  {"%a: f32[1] = Slice(%config, %zero, %one)", "%b: i64[1] = Cast(%a) {to = 7}",
                   "%e: i64[1] = Add(%b, %four)", "%s: f32[N, m] = Slice(%x, %zero, %e, %one)",
                   "%c: f32[1] = Slice(%config, %one, %two)", "%l: f32[1] = Log(%c)"},
                  "",
                  {"%zero = i64[1] hex\"0000000000000000\"", "%one = i64[1] hex\"0100000000000000\"",
                   "%two = i64[1] hex\"0200000000000000\"", "%four = i64[1] hex\"0400000000000000\""});
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Sample sample = draw(model, {{"x", {2, 9}}}, seed);
    const auto config = sample.inputs.at("config").tensor.to_doubles();
    EXPECT_TRUE(config[0] >= 1 && config[0] <= 4 && config[0] == std::floor(config[0])) << config[0];
    EXPECT_TRUE(config[1] >= 0.1 && config[1] <= 2) << config[1];
    EXPECT_TRUE(config[2] >= -1 && config[2] <= 1) << config[2];
    EXPECT_THAT(sample.drawn.at("config"), testing::HasSubstr("[1] f32 in [0.1, 2]"));
  }
}

TEST(RandomInputs, OtherSizesTakeThePlaceOfThoseThatAreRefused) {
  const Model model = small_model("%x: f32[N, sequence]");
  const Error of_node = bad_input("TopK of 17 elements out of 1").at_node("top");
  RandomInputs source(model, {});
  const auto sequence = [&] { return source.next()->inputs.at("x").tensor.dims()[1]; };
  EXPECT_EQ(sequence(), 1);
  EXPECT_TRUE(source.withdraw(of_node));
  EXPECT_EQ(sequence(), 2);
  EXPECT_FALSE(source.withdraw(internal_error("a defect").at_node("top"))) << "defects are no refusals";
  EXPECT_FALSE(source.withdraw(bad_input("about no node")));
  EXPECT_EQ(sequence(), 16);
  EXPECT_EQ(source.size(), 4u);
  // Sizes that are known to be refused need not be drawn.
  const Dims next = source.next_shapes().at("x");
  source.skip(of_node);
  const Dims other = source.next_shapes().at("x");
  EXPECT_NE(other, next);
  EXPECT_EQ(sequence(), other[1]);
  // Sizes that the user gave are not exchanged.
  RandomOptions given;
  given.shapes = {{{"x", {1, 1}}}};
  RandomInputs fixed(model, given);
  fixed.next();
  EXPECT_FALSE(fixed.withdraw(of_node));
  // Where all are refused, the last refusal stands.
  RandomInputs hopeless(model, {});
  size_t tries = 0;
  for (; hopeless.next(); ++tries) {
    if (!hopeless.withdraw(of_node)) break;
  }
  EXPECT_GT(tries, 10u);
  EXPECT_LT(tries, 100u);
}

// Where the work is large and does not depend on the size that is sought.
TEST(RandomInputs, SizesThatAreRefusedAreTriedForABearableTime) {
  const auto tries = [](const std::string& width) {
    const Model model =
        small_model("%x: f32[64, 64], %y: f32[1, p]", {"%z: f32[" + width + ", " + width + "] = Expand(%x)"});
    RandomInputs source(model, {});
    int count = 0;
    do {
      EXPECT_TRUE(source.next());
      ++count;
    } while (source.withdraw(bad_input("not of 5 columns").at_node("regions")));
    return count;
  };
  EXPECT_GT(tries("64"), 20);
  EXPECT_GT(tries("13000"), 3);
  EXPECT_LT(tries("13000"), 13);
}

// Every sum of products counts, whatever its operator is called: that of images by filters as large takes
// hours.
TEST(RandomInputs, NoSizesAreTriedWhoseProductsAreTooMany) {
  for (const std::string op : {"ConvInteger", "MatMulInteger"}) {
    const std::string node = op == "ConvInteger"
                                 ? "%y: i32[a, e, c, d] = ConvInteger(%x, %w) {auto_pad = \"SAME_UPPER\"}"
                                 : "%y: i32[a, b, c, h] = MatMulInteger(%x, %w)";
    const Model model = small_model("%x: i8[a, b, c, d], %w: i8[e, f, g, h]", {node});
    RandomInputs source(model, {});
    double most = 0;
    for (InputShapes shapes = source.next_shapes(); !shapes.empty(); shapes = source.next_shapes()) {
      const Dims &x = shapes.at("x"), &w = shapes.at("w");
      const double products = op == "ConvInteger" ? 1.0 * x[0] * w[0] * x[2] * x[3] * w[1] * w[2] * w[3]
                                                  : 1.0 * x[0] * x[1] * x[2] * x[3] * w[3];
      most = std::max(most, products);
      source.skip(bad_input("not these").at_node("y"));
    }
    EXPECT_GT(most, 1e6) << op;
    EXPECT_LE(most, 1e10) << op;
  }
}

TEST(RandomInputs, UnknownRankNeedsShapes) {
  const Model model = small_model("%x: f32[*]");
  EXPECT_THROW(draw(model), Error);
  EXPECT_EQ(draw(model, {{"x", {2, 3}}}).inputs.at("x").tensor.dims(), (Dims{2, 3}));
}

TEST(RandomInputs, WhatIsDrawnKeepsToTheLimitOfMemory) {
  const Model model = small_model("%x: u8[N]");
  const size_t before = allocation_limit();
  set_allocation_limit(8000);  // a tensor of 1001 bytes would do, but is drawn in numbers of eight
  EXPECT_NO_THROW(draw(model, {{"x", {1000}}}));
  try {
    draw(model, {{"x", {1001}}});
    ADD_FAILURE() << "drawn";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("a random input 'x' [1001] takes 8008 bytes"));
  }
  set_allocation_limit(before);
}

}  // namespace
}  // namespace vernier
