#include "vernier/run/ties.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"
#include "vernier/run/dataflow.h"

namespace vernier {
namespace {

Model graph(const std::string& inputs, const std::string& nodes) {
  return parse_model("model ir=10 opset \"\" 24 {\ngraph \"g\" (" + inputs + ") -> (%y) {\n" + nodes +
                     "\n}\n}");
}

std::optional<DecisionInput> operand(Dims dims, std::vector<double> values, double error) {
  std::vector<double> errors(values.size(), error);
  return DecisionInput{std::move(dims), std::move(values), std::move(errors)};
}

Tensor ints(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, std::move(dims), values);
}

const Node& only_node(const Model& model) {
  return *model.graph->nodes()[0];
}

const Model& top_k() {
  static const Model model = graph(
      "%x: f32[5], %k: i64[1]", "%v: f32[*], %y: i64[*] = TopK(%x, %k) version 11 @\"top\" from [\"top\"]");
  return model;
}

std::optional<Decision> top_three(const std::vector<double>& scores, double error,
                                  const std::vector<int64_t>& got) {
  return find_tie(only_node(top_k()), {operand({5}, scores, error)}, ints({3}, {0, 1, 2}), ints({3}, got));
}

TEST(Ties, OfAnOrderNeedAMarginWithinTheError) {
  const auto tie = top_three({5, 4, 3.9, 1, 0}, 0.06, {0, 2, 1});
  ASSERT_TRUE(tie);
  EXPECT_EQ(tie->rows_swapped, 2);
  EXPECT_NEAR(tie->margin, 0.1, 1e-12);
  EXPECT_NEAR(tie->error, 0.12, 1e-12);
  EXPECT_EQ(tie->node, "top");
  EXPECT_FALSE(top_three({5, 4, 3.9, 1, 0}, 0.04, {0, 2, 1}));
  EXPECT_FALSE(top_three({5, 4, 4, 1, 0}, 0, {0, 2, 1}));  // equal on both sides: the order is stated
}

TEST(Ties, MayChangeWhatIsSelected) {
  EXPECT_TRUE(top_three({5, 4, 3, 2.95, 0}, 0.03, {0, 1, 3}));
  EXPECT_FALSE(top_three({5, 4, 3, 2.95, 0}, 0.03, {0, 1, 4}));
}

TEST(Ties, AreValidResults) {
  EXPECT_FALSE(top_three({5, 4, 4, 4, 4}, 1, {0, 1, 1}));
  EXPECT_FALSE(top_three({5, 4, 4, 4, 4}, 1, {0, 1, 5}));
  EXPECT_FALSE(top_three({5, 4, 4, 4, 4}, 1, {0, 1, -1}));
  EXPECT_FALSE(find_tie(only_node(top_k()), {operand({5}, {5, 4, 3, 2, 1}, 9)}, ints({3}, {0, 1, 2}),
                        ints({2}, {0, 1})));
}

TEST(Ties, OfAnIndexAreThoseOfItsRow) {
  const Model model =
      graph("%x: f32[2, 3]",
            "%y: i64[*] = ArgMin(%x) {axis = 1, keepdims = 0} version 13 @\"least\" from [\"least\"]");
  const auto tie = [&](const std::vector<int64_t>& got) {
    return find_tie(only_node(model), {operand({2, 3}, {1, 1.01, 5, 7, 2, 9}, 0.01)}, ints({2}, {0, 1}),
                    ints({2}, got));
  };
  EXPECT_TRUE(tie({1, 1}));
  EXPECT_FALSE(tie({2, 1}));
  EXPECT_FALSE(tie({0, 0}));
  EXPECT_FALSE(tie({3, 1}));
}

TEST(Ties, OfARoundingAreBesideItsBoundary) {
  const auto tie = [&](const char* op, double x, double expected, double got) {
    const Model model =
        graph("%x: f32[1]", fmt::format("%y: f32[*] = {}(%x) version 13 @\"r\" from [\"r\"]", op));
    const auto one = [](double value) {
      return Tensor::from_doubles(ElementType::kFloat, {1}, std::vector{value});
    };
    return find_tie(only_node(model), {operand({1}, {x}, 1e-3)}, one(expected), one(got)).has_value();
  };
  EXPECT_TRUE(tie("Round", 1.4995, 1, 2));
  EXPECT_FALSE(tie("Round", 1.49, 1, 2));
  EXPECT_FALSE(tie("Round", 1.4995, 1, 3));
  EXPECT_TRUE(tie("Floor", 1.9995, 1, 2));
  EXPECT_FALSE(tie("Floor", 1.4995, 1, 2));
  EXPECT_TRUE(tie("Ceil", 2.0005, 3, 2));
  EXPECT_FALSE(tie("Ceil", 2.5, 3, 2));
}

Tensor codes(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt8, std::move(dims), values);
}

// One element of scale 1/2 and zero point 10.
bool quantized_tie(double x, double error, int64_t expected, int64_t got, bool is_shown = true) {
  const Model model = graph("%x: f32[1], %s: f32[], %z: i8[]",
                            "%y: i8[1] = QuantizeLinear(%x, %s, %z) version 19 @\"q\" from [\"q\"]");
  auto quantized = operand({1}, {x}, error);
  quantized->is_shown = is_shown;
  return find_tie(only_node(model), {quantized, operand({}, {0.5}, 0), operand({}, {10}, 0)},
                  codes({1}, {expected}), codes({1}, {got}))
      .has_value();
}

TEST(Ties, OfAQuantizationAreBesideTheMiddleOfTwoSteps) {
  EXPECT_TRUE(quantized_tie(0.7499, 1e-3, 11, 12));
  EXPECT_FALSE(quantized_tie(0.74, 1e-3, 11, 12));
  EXPECT_FALSE(quantized_tie(0.7499, 1e-3, 11, 13));
  EXPECT_FALSE(quantized_tie(0.7499, 1e-3, 11, 10));
  EXPECT_FALSE(quantized_tie(90, 1e-3, 127, 126));  // saturated: far from the middle
}

// An engine may multiply by the reciprocal of the scale; but of what lies in the middle the standard says
// what becomes.
TEST(Ties, OfAQuantizationNeedNoErrorButThatOfItsArithmetic) {
  EXPECT_TRUE(quantized_tie(0.7500001, 0, 12, 11));
  EXPECT_FALSE(quantized_tie(0.7502, 0, 12, 11));
  EXPECT_FALSE(quantized_tie(0.75, 0, 12, 11));
}

TEST(Ties, OfAQuantizationAreNotExplainedByMuchNoise) {
  EXPECT_TRUE(quantized_tie(0.74, 1, 11, 12, false));
  EXPECT_FALSE(quantized_tie(0.7, 1, 11, 12, false));
}

TEST(Ties, OfAQuantizedProductNeedTheSameOperands) {
  const Model model = graph(
      "%a: i8[1, 2], %as: f32[], %az: i8[], %b: i8[2, 1], %bs: f32[], %bz: i8[], %ys: f32[], %yz: i8[]",
      "%y: i8[1, 1] = QLinearMatMul(%a, %as, %az, %b, %bs, %bz, %ys, %yz) version 10 @\"q\" from [\"q\"]");
  const auto tie = [&](double scale, double error) {
    return find_tie(only_node(model),
                    {operand({1, 2}, {1, 2}, error), operand({}, {scale}, 0), operand({}, {0}, 0),
                     operand({2, 1}, {1, 2}, 0), operand({}, {1}, 0), operand({}, {0}, 0),
                     operand({}, {1}, 0), operand({}, {0}, 0)},
                    codes({1, 1}, {1}), codes({1, 1}, {0}))
        .has_value();
  };
  EXPECT_TRUE(tie(0.1000001, 0));  // the result is 0.5000005
  EXPECT_FALSE(tie(0.1001, 0));
  EXPECT_FALSE(tie(0.1000001, 1));
}

TEST(Ties, OfAQuantizationToFloatsAreNone) {
  const Model model = graph("%x: f32[1], %s: f32[], %z: f8e4m3fn[]",
                            "%y: f8e4m3fn[1] = QuantizeLinear(%x, %s, %z) version 19 @\"q\" from [\"q\"]");
  EXPECT_FALSE(is_decision(only_node(model)));
}

TEST(Ties, OfAComparisonAreBroadcast) {
  const Model model =
      graph("%x: f32[2, 2], %z: f32[2]", "%y: bool[*] = Less(%x, %z) version 13 @\"less\" from [\"less\"]");
  const auto tie = [&](const std::vector<bool>& got) {
    const auto bools = [](const std::vector<bool>& values) {
      return Tensor::from_ints(ElementType::kBool, {2, 2},
                               std::vector<int64_t>(values.begin(), values.end()));
    };
    return find_tie(only_node(model), {operand({2, 2}, {1, 2, 3, 3.999}, 1e-3), operand({2}, {2, 4}, 1e-3)},
                    bools({true, true, false, true}), bools(got));
  };
  EXPECT_TRUE(tie({true, true, false, false}));
  EXPECT_FALSE(tie({true, false, false, true}));
  EXPECT_FALSE(tie({true, true, true, false}));
}

// Four boxes in a column, the first two of which overlap by `overlap` of their height.
std::optional<Decision> suppression(double overlap, double error, const std::vector<double>& scores,
                                    const std::vector<int64_t>& expected, const std::vector<int64_t>& got) {
  const Model model =
      graph("%b: f32[1, 4, 4], %s: f32[1, 1, 4], %m: i64[1], %t: f32[1]",
            "%y: i64[*] = NonMaxSuppression(%b, %s, %m, %t) version 11 @\"nms\" from [\"nms\"]");
  const std::vector<double> boxes = {0, 0, 1, 1, 1 - overlap, 0, 2 - overlap, 1, 4, 0, 5, 1, 6, 0, 7, 1};
  const auto triples = [](const std::vector<int64_t>& list) {
    std::vector<int64_t> values;
    for (const int64_t box : list) values.insert(values.end(), {0, 0, box});
    return ints({std::ssize(list), 3}, values);
  };
  return find_tie(only_node(model),
                  {operand({1, 4, 4}, boxes, error), operand({1, 1, 4}, scores, error), operand({1}, {3}, 0),
                   operand({1}, {0.5}, 0)},
                  triples(expected), triples(got));
}

TEST(Ties, OfASuppressionAreOfScoresOrOverlaps) {
  const std::vector<double> near = {0.9, 0.1, 0.7301, 0.73};
  EXPECT_TRUE(suppression(0, 1e-4, near, {0, 2, 3}, {0, 3, 2}));
  EXPECT_FALSE(suppression(0, 1e-5, near, {0, 2, 3}, {0, 3, 2}));
  // Two boxes of height 1 that overlap by 2/3 have an overlap of one half.
  const std::vector<double> clear = {0.9, 0.8, 0.7, 0.6};
  EXPECT_TRUE(suppression(0.6666, 1e-3, clear, {0, 1, 2}, {0, 2, 3}));  // suppressed by a tie
  EXPECT_TRUE(suppression(0.6667, 1e-3, clear, {0, 2, 3}, {0, 1, 2}));  // or not
  EXPECT_FALSE(suppression(0.6, 1e-3, clear, {0, 1, 2}, {0, 2, 3}));
  EXPECT_FALSE(suppression(0.7, 1e-3, clear, {0, 2, 3}, {0, 1, 2}));
}

TEST(Ties, OfASuppressionAreValidResults) {
  const std::vector<double> clear = {0.9, 0.8, 0.7, 0.6};
  for (const auto& got :
       std::vector<std::vector<int64_t>>{{0, 1}, {0, 1, 1}, {0, 1, 4}, {0, 1, 3}, {0, 1, 2, 3}})
    EXPECT_FALSE(suppression(0, 1e-3, clear, {0, 1, 2}, got)) << got.size() << " " << got.back();
}

TEST(Dataflow, FindsWhatIsBehindAValueAndWhatIsRandom) {
  const Model model = graph("%x: f32[4], %on: bool[]", R"(
    %n: f32[*] = RandomNormalLike(%x) version 22 @"noise" from ["noise"]
    %a: f32[*] = Add(%x, %n) version 14 @"add" from ["add"]
    %b: f32[*] = Relu(%x) version 14 @"relu" from ["relu"]
    %d: f32[*] = Dropout(%b, _, %on) version 13 @"drop" from ["drop"]
    %y: f32[*] = Mul(%a, %d) version 14 @"mul" from ["mul"])");
  const auto& nodes = model.graph->nodes();
  EXPECT_EQ(nodes_behind(*model.graph, {"d"}), (std::set<const Node*>{nodes[2].get(), nodes[3].get()}));
  EXPECT_EQ(nodes_behind(*model.graph, {"y"}).size(), 5U);
  EXPECT_TRUE(nodes_behind(*model.graph, {"x"}).empty());
  const auto random = random_values(*model.graph);
  EXPECT_EQ(random.size(), 4U);
  EXPECT_EQ(random.at("a"), "node 'noise' (RandomNormalLike)");
  EXPECT_EQ(random.at("d"), "node 'drop' (Dropout)");
  EXPECT_FALSE(random.contains("b"));
}

}  // namespace
}  // namespace vernier
