// Patterns that exporters write for one operator: recognised in their usual spellings, left where they are
// not the operator, and equal to it on random inputs.
#include "passes/lines.h"

namespace vernier {
namespace {

// What is left after the pass and dead code, having checked that the numbers are the same.
std::string rewritten(const std::string& inputs, const std::vector<Line>& lines, const Pass& pass,
                      const std::string& output = "%y") {
  const Model before = model_of(inputs, lines, output);
  Model after = model_of(inputs, lines, output);
  rewrite(after, {pass, remove_dead_code()});
  EXPECT_LT(distance(before, after), 1e-6);
  return operators(*after.graph);
}

const std::string kRows = "%x: f32[2, 5, 8], %scale: f32[8], %bias: f32[8]";

std::vector<Line> layer_norm(const std::vector<Line>& tail) {
  std::vector<Line> lines = {{"mean", "ReduceMean", "%x, %last"}, {"d", "Sub", "%x, %mean"}};
  lines.insert(lines.end(), tail.begin(), tail.end());
  return lines;
}

TEST(RecogniseLayerNorm, UsualSpellings) {
  const std::vector<Line> root = layer_norm({{"q", "Pow", "%d, %two"},
                                             {"v", "ReduceMean", "%q, %last"},
                                             {"e", "Add", "%v, %epsilon"},
                                             {"r", "Sqrt", "%e"},
                                             {"n", "Div", "%d, %r"},
                                             {"s", "Mul", "%n, %scale"},
                                             {"y", "Add", "%s, %bias"}});
  EXPECT_EQ(rewritten(kRows, root, recognise_layer_norm()), "LayerNormalization");
  const std::vector<Line> inverse = layer_norm({{"q", "Mul", "%d, %d"},
                                                {"v", "ReduceMean", "%q, %last"},
                                                {"e", "Add", "%epsilon, %v"},
                                                {"r", "Sqrt", "%e"},
                                                {"i", "Reciprocal", "%r"},
                                                {"n", "Mul", "%i, %d"},
                                                {"s", "Mul", "%scale, %n"},
                                                {"y", "Add", "%bias, %s"}});
  EXPECT_EQ(rewritten(kRows, inverse, recognise_layer_norm()), "LayerNormalization");
  const std::vector<Line> bare = layer_norm({{"q", "Pow", "%d, %two"},
                                             {"v", "ReduceMean", "%q, %last"},
                                             {"e", "Add", "%v, %epsilon"},
                                             {"i", "Pow", "%e, %minus_half"},
                                             {"y", "Mul", "%d, %i"}});
  EXPECT_EQ(rewritten(kRows, bare, recognise_layer_norm()), "LayerNormalization");
}

TEST(RecogniseLayerNorm, OtherThingsStay) {
  const std::vector<Line> read_twice = layer_norm({{"q", "Pow", "%d, %two"},
                                                   {"v", "ReduceMean", "%q, %last"},
                                                   {"e", "Add", "%v, %epsilon"},
                                                   {"r", "Sqrt", "%e"},
                                                   {"y", "Div", "%d, %r"}});
  EXPECT_EQ(rewritten(kRows, read_twice, recognise_layer_norm(), "%y, %r"),
            "ReduceMean Sub Pow ReduceMean Add Sqrt Div");
  const std::vector<Line> cubed = layer_norm({{"q", "Pow", "%d, %three"},
                                              {"a", "Abs", "%q"},
                                              {"v", "ReduceMean", "%a, %last"},
                                              {"e", "Add", "%v, %epsilon"},
                                              {"r", "Sqrt", "%e"},
                                              {"y", "Div", "%d, %r"}});
  EXPECT_EQ(rewritten(kRows, cubed, recognise_layer_norm()),
            "ReduceMean Sub Pow Abs ReduceMean Add Sqrt Div");
}

TEST(RecogniseRmsNorm, UsualSpelling) {
  const std::vector<Line> lines = {{"q", "Pow", "%x, %two"},     {"v", "ReduceMean", "%q, %last"},
                                   {"e", "Add", "%v, %epsilon"}, {"r", "Sqrt", "%e"},
                                   {"i", "Reciprocal", "%r"},    {"n", "Mul", "%x, %i"},
                                   {"y", "Mul", "%scale, %n"}};
  EXPECT_EQ(rewritten(kRows, lines, recognise_rms_norm()), "RMSNormalization");
}

// What is left of these lines over doubles.
std::string rewritten_doubles(const std::string& constants, const std::vector<Line>& lines,
                              const Pass& pass) {
  std::string text = "graph \"g\" (%x: f64[2, 8]) -> (%y) {" + constants;
  for (const Line& line : lines) {
    const std::string attributes = line.attributes.empty() ? "" : "{" + line.attributes + "}";
    text += fmt::format("  %{}: f64[*] = {}({}) {} version {} @\"{}\" from [\"{}\"]\n", line.output, line.op,
                        line.inputs, attributes, line.version, line.output, line.output);
  }
  Model model = parse_graph(text + "}");
  rewrite(model, {pass, remove_dead_code()});
  return operators(*model.graph);
}

// The attribute epsilon is a float, which 0.001 is not.
TEST(RecogniseRmsNorm, AnEpsilonOfDoublesThatIsNoFloatStays) {
  const std::vector<Line> lines = {{"q", "Pow", "%x, %two"},
                                   {"v", "ReduceMean", "%q, %last"},
                                   {"e", "Add", "%v, %epsilon"},
                                   {"r", "Sqrt", "%e"},
                                   {"y", "Div", "%x, %r"}};
  const auto with = [&](const std::string& epsilon) {
    const std::string constants =
        "const %two = f64[] hex\"0000000000000040\"\n const %epsilon = f64[] hex\"" + epsilon +
        "\"\n const %last = i64[1] hex\"ffffffffffffffff\"\n";
    return rewritten_doubles(constants, lines, recognise_rms_norm());
  };
  EXPECT_EQ(with("000000000000503f"), "RMSNormalization");  // 2^-10
  EXPECT_EQ(with("fca9f1d24d62503f"), "Pow ReduceMean Add Sqrt Div");
}

TEST(RecogniseGelu, ErfAndTanhInAnyOrder) {
  const std::vector<Line> erf = {{"a", "Div", "%x, %root_two"}, {"e", "Erf", "%a"}, {"o", "Add", "%e, %one"}};
  const auto with = [](std::vector<Line> lines, const std::vector<Line>& tail) {
    lines.insert(lines.end(), tail.begin(), tail.end());
    return lines;
  };
  const std::string x = "%x: f32[3, 40]";
  EXPECT_EQ(rewritten(x, with(erf, {{"p", "Mul", "%x, %o"}, {"y", "Mul", "%p, %half"}}), recognise_gelu()),
            "Gelu");
  EXPECT_EQ(rewritten(x, with(erf, {{"h", "Mul", "%half, %x"}, {"y", "Mul", "%h, %o"}}), recognise_gelu()),
            "Gelu");
  EXPECT_EQ(rewritten(x, with(erf, {{"h", "Div", "%o, %two"}, {"y", "Mul", "%x, %h"}}), recognise_gelu()),
            "Gelu");
  const std::vector<Line> tanh = {{"c", "Pow", "%x, %three"}, {"k", "Mul", "%c, %cubic"},
                                  {"s", "Add", "%x, %k"},     {"a", "Mul", "%s, %slope"},
                                  {"t", "Tanh", "%a"},        {"o", "Add", "%one, %t"},
                                  {"h", "Mul", "%x, %half"},  {"y", "Mul", "%h, %o"}};
  EXPECT_EQ(rewritten(x, tanh, recognise_gelu()), "Gelu");
  EXPECT_EQ(rewritten(x, with(erf, {{"y", "Mul", "%x, %o"}}), recognise_gelu()), "Div Erf Add Mul");
}

TEST(RecogniseHardSwish, ClipAndHardSigmoid) {
  const std::string x = "%x: f32[3, 40]";
  const std::vector<Line> clip = {{"s", "Add", "%x, %three"},
                                  {"c", "Clip", "%s, %zero, %six", "", 13},
                                  {"p", "Mul", "%x, %c"},
                                  {"y", "Div", "%p, %six"}};
  EXPECT_EQ(rewritten(x, clip, recognise_hard_swish()), "HardSwish");
  const std::vector<Line> gate = {{"g", "HardSigmoid", "%x", "alpha = float 0.16666667, beta = float 0.5"},
                                  {"y", "Mul", "%g, %x"}};
  EXPECT_EQ(rewritten(x, gate, recognise_hard_swish()), "HardSwish");
  const std::vector<Line> other = {{"g", "HardSigmoid", "%x", "alpha = float 0.2, beta = float 0.5"},
                                   {"y", "Mul", "%g, %x"}};
  EXPECT_EQ(rewritten(x, other, recognise_hard_swish()), "HardSigmoid Mul");
  // HardSwish of doubles has a slope of 1 / 6 in double, the attribute is a float.
  EXPECT_EQ(rewritten_doubles("", gate, recognise_hard_swish()), "HardSigmoid Mul");
}

TEST(RecogniseSoftmax, WithAndWithoutTheMaximum) {
  const std::string x = "%x: f32[3, 40]";
  EXPECT_EQ(rewritten(x,
                      {{"m", "ReduceMax", "%x, %last"},
                       {"d", "Sub", "%x, %m"},
                       {"e", "Exp", "%d"},
                       {"s", "ReduceSum", "%e, %last"},
                       {"y", "Div", "%e, %s"}},
                      recognise_softmax()),
            "Softmax");
  EXPECT_EQ(rewritten(x, {{"e", "Exp", "%x"}, {"s", "ReduceSum", "%e, %last"}, {"y", "Div", "%e, %s"}},
                      recognise_softmax()),
            "Softmax");
}

TEST(RecogniseL2Norm, RootOfTheSumOfSquares) {
  const std::string x = "%x: f32[3, 40]";
  EXPECT_EQ(rewritten(x, {{"q", "Mul", "%x, %x"}, {"s", "ReduceSum", "%q, %last"}, {"y", "Sqrt", "%s"}},
                      recognise_l2_norm()),
            "ReduceL2");
}

TEST(RecogniseSilu, WithAndWithoutASlope) {
  const std::string x = "%x: f32[3, 40]";
  EXPECT_EQ(rewritten(x, {{"g", "Sigmoid", "%x"}, {"y", "Mul", "%x, %g"}}, recognise_silu()), "Swish");
  EXPECT_EQ(rewritten(x, {{"s", "Mul", "%x, %root_two"}, {"g", "Sigmoid", "%s"}, {"y", "Mul", "%g, %x"}},
                      recognise_silu()),
            "Swish");
}

}  // namespace
}  // namespace vernier
