// Patterns that exporters write for one operator: recognised in their usual spellings, left where they are
// not the operator, and equal to it on random inputs.
#include "passes/expect_pass.h"
#include "passes/lines.h"

namespace vernier {
namespace {

// The pass makes this of the lines, once what nobody reads any more is gone.
void recognise(const std::string& inputs, const std::vector<Line>& lines, const Pass& pass,
               const std::string& after, int line = __builtin_LINE()) {
  expect_pass({pass, {}, {remove_dead_code()}}, model_of(inputs, lines), after, line);
}
void leave(const std::string& inputs, const std::vector<Line>& lines, const Pass& pass,
           const std::string& output = "%y", int line = __builtin_LINE()) {
  expect_unchanged({pass}, model_of(inputs, lines, output), line);
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
  recognise(kRows, root, recognise_layer_norm(),
            R"(graph "g" (%x: f32[2, 5, 8], %scale: f32[8], %bias: f32[8]) -> (%y) {
      %y: f32[2, 5, 8] = LayerNormalization(%x, %scale, %bias) {axis = -1, epsilon = float 1e-05} version 17 @"y" from ["d", "e", "mean", "n", "q", "r", "s", "v", "y"]
  })");
  const std::vector<Line> inverse = layer_norm({{"q", "Mul", "%d, %d"},
                                                {"v", "ReduceMean", "%q, %last"},
                                                {"e", "Add", "%epsilon, %v"},
                                                {"r", "Sqrt", "%e"},
                                                {"i", "Reciprocal", "%r"},
                                                {"n", "Mul", "%i, %d"},
                                                {"s", "Mul", "%scale, %n"},
                                                {"y", "Add", "%bias, %s"}});
  recognise(kRows, inverse, recognise_layer_norm(),
            R"(graph "g" (%x: f32[2, 5, 8], %scale: f32[8], %bias: f32[8]) -> (%y) {
      %y: f32[2, 5, 8] = LayerNormalization(%x, %scale, %bias) {axis = -1, epsilon = float 1e-05} version 17 @"y" from ["d", "e", "i", "mean", "n", "q", "r", "s", "v", "y"]
  })");
  const std::vector<Line> bare = layer_norm({{"q", "Pow", "%d, %two"},
                                             {"v", "ReduceMean", "%q, %last"},
                                             {"e", "Add", "%v, %epsilon"},
                                             {"i", "Pow", "%e, %minus_half"},
                                             {"y", "Mul", "%d, %i"}});
  recognise(kRows, bare, recognise_layer_norm(),
            R"(graph "g" (%x: f32[2, 5, 8], %scale: f32[8], %bias: f32[8]) -> (%y) {
      const %y/scale = f32[8] hex"0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f"
      %y: f32[2, 5, 8] = LayerNormalization(%x, %y/scale) {axis = -1, epsilon = float 1e-05} version 17 @"y" from ["d", "e", "i", "mean", "q", "v", "y"]
  })");
}

TEST(RecogniseLayerNorm, OtherThingsStay) {
  const std::vector<Line> read_twice = layer_norm({{"q", "Pow", "%d, %two"},
                                                   {"v", "ReduceMean", "%q, %last"},
                                                   {"e", "Add", "%v, %epsilon"},
                                                   {"r", "Sqrt", "%e"},
                                                   {"y", "Div", "%d, %r"}});
  leave(kRows, read_twice, recognise_layer_norm(), "%y, %r");
  const std::vector<Line> cubed = layer_norm({{"q", "Pow", "%d, %three"},
                                              {"a", "Abs", "%q"},
                                              {"v", "ReduceMean", "%a, %last"},
                                              {"e", "Add", "%v, %epsilon"},
                                              {"r", "Sqrt", "%e"},
                                              {"y", "Div", "%d, %r"}});
  leave(kRows, cubed, recognise_layer_norm());
}

TEST(RecogniseRmsNorm, UsualSpelling) {
  const std::vector<Line> lines = {{"q", "Pow", "%x, %two"},     {"v", "ReduceMean", "%q, %last"},
                                   {"e", "Add", "%v, %epsilon"}, {"r", "Sqrt", "%e"},
                                   {"i", "Reciprocal", "%r"},    {"n", "Mul", "%x, %i"},
                                   {"y", "Mul", "%scale, %n"}};
  recognise(kRows, lines, recognise_rms_norm(),
            R"(graph "g" (%x: f32[2, 5, 8], %scale: f32[8], %bias: f32[8]) -> (%y) {
      %y: f32[2, 5, 8] = RMSNormalization(%x, %scale) {axis = -1, epsilon = float 1e-05} version 23 @"y" from ["e", "i", "n", "q", "r", "v", "y"]
  })");
}

TEST(RecogniseRmsNorm, AMeanOfWhatIsNoSquareStays) {
  leave(kRows,
        {{"q", "Abs", "%x"},
         {"v", "ReduceMean", "%q, %last"},
         {"e", "Add", "%v, %epsilon"},
         {"r", "Sqrt", "%e"},
         {"y", "Div", "%x, %r"}},
        recognise_rms_norm());
}

// These lines over doubles.
Model model_of_doubles(const std::string& constants, const std::vector<Line>& lines) {
  std::string text = "graph \"g\" (%x: f64[2, 8]) -> (%y) {" + constants;
  for (const Line& line : lines) {
    const std::string attributes = line.attributes.empty() ? "" : "{" + line.attributes + "}";
    text += fmt::format("  %{}: f64[*] = {}({}) {} version {} @\"{}\" from [\"{}\"]\n", line.output, line.op,
                        line.inputs, attributes, line.version, line.output, line.output);
  }
  return parse_graph(text + "}");
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
    return model_of_doubles(constants, lines);
  };
  Model power_of_two = with("000000000000503f");  // 2^-10
  EXPECT_EQ(rewrite(power_of_two, {recognise_rms_norm()}).at("recognise-rms-norm"), 1);
  expect_unchanged({recognise_rms_norm()}, with("fca9f1d24d62503f"));
}

TEST(RecogniseGelu, ErfAndTanhInAnyOrder) {
  const std::vector<Line> erf = {{"a", "Div", "%x, %root_two"}, {"e", "Erf", "%a"}, {"o", "Add", "%e, %one"}};
  const auto with = [](std::vector<Line> lines, const std::vector<Line>& tail) {
    lines.insert(lines.end(), tail.begin(), tail.end());
    return lines;
  };
  const std::string x = "%x: f32[3, 40]";
  recognise(x, with(erf, {{"p", "Mul", "%x, %o"}, {"y", "Mul", "%p, %half"}}), recognise_gelu(),
            R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Gelu(%x) version 20 @"y" from ["a", "e", "o", "p", "y"]
  })");
  recognise(x, with(erf, {{"h", "Mul", "%half, %x"}, {"y", "Mul", "%h, %o"}}), recognise_gelu(),
            R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Gelu(%x) version 20 @"y" from ["a", "e", "h", "o", "y"]
  })");
  recognise(x, with(erf, {{"h", "Div", "%o, %two"}, {"y", "Mul", "%x, %h"}}), recognise_gelu(),
            R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Gelu(%x) version 20 @"y" from ["a", "e", "h", "o", "y"]
  })");
  const std::vector<Line> tanh = {{"c", "Pow", "%x, %three"}, {"k", "Mul", "%c, %cubic"},
                                  {"s", "Add", "%x, %k"},     {"a", "Mul", "%s, %slope"},
                                  {"t", "Tanh", "%a"},        {"o", "Add", "%one, %t"},
                                  {"h", "Mul", "%x, %half"},  {"y", "Mul", "%h, %o"}};
  recognise(x, tanh, recognise_gelu(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Gelu(%x) {approximate = "tanh"} version 20 @"y" from ["a", "c", "h", "k", "o", "s", "t", "y"]
  })");
  leave(x, with(erf, {{"y", "Mul", "%x, %o"}}), recognise_gelu());
}

TEST(RecogniseHardSwish, ClipAndHardSigmoid) {
  const std::string x = "%x: f32[3, 40]";
  const std::vector<Line> clip = {{"s", "Add", "%x, %three"},
                                  {"c", "Clip", "%s, %zero, %six", "", 13},
                                  {"p", "Mul", "%x, %c"},
                                  {"y", "Div", "%p, %six"}};
  recognise(x, clip, recognise_hard_swish(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = HardSwish(%x) version 22 @"y" from ["c", "p", "s", "y"]
  })");
  const std::vector<Line> gate = {{"g", "HardSigmoid", "%x", "alpha = float 0.16666667, beta = float 0.5"},
                                  {"y", "Mul", "%g, %x"}};
  recognise(x, gate, recognise_hard_swish(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = HardSwish(%x) version 22 @"y" from ["g", "y"]
  })");
  const std::vector<Line> other = {{"g", "HardSigmoid", "%x", "alpha = float 0.2, beta = float 0.5"},
                                   {"y", "Mul", "%g, %x"}};
  leave(x, other, recognise_hard_swish());
  // HardSwish of doubles has a slope of 1 / 6 in double, the attribute is a float.
  expect_unchanged({recognise_hard_swish()}, model_of_doubles("", gate));
}

TEST(RecogniseSoftmax, WithAndWithoutTheMaximum) {
  const std::string x = "%x: f32[3, 40]";
  recognise(x,
            {{"m", "ReduceMax", "%x, %last"},
             {"d", "Sub", "%x, %m"},
             {"e", "Exp", "%d"},
             {"s", "ReduceSum", "%e, %last"},
             {"y", "Div", "%e, %s"}},
            recognise_softmax(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Softmax(%x) {axis = 1} version 13 @"y" from ["d", "e", "m", "s", "y"]
  })");
  recognise(x, {{"e", "Exp", "%x"}, {"s", "ReduceSum", "%e, %last"}, {"y", "Div", "%e, %s"}},
            recognise_softmax(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Softmax(%x) {axis = 1} version 13 @"y" from ["e", "s", "y"]
  })");
}

TEST(RecogniseSoftmax, ASumOfSomethingElseStays) {
  leave("%x: f32[3, 40], %z: f32[3, 40]",
        {{"e", "Exp", "%x"}, {"f", "Exp", "%z"}, {"s", "ReduceSum", "%f, %last"}, {"y", "Div", "%e, %s"}},
        recognise_softmax());
}

TEST(RecogniseL2Norm, RootOfTheSumOfSquares) {
  const std::string x = "%x: f32[3, 40]";
  recognise(x, {{"q", "Mul", "%x, %x"}, {"s", "ReduceSum", "%q, %last"}, {"y", "Sqrt", "%s"}},
            recognise_l2_norm(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      const %y/axes = i64[1] hex"0100000000000000"
      %y: f32[3, 1] = ReduceL2(%x, %y/axes) {keepdims = 1} version 18 @"y" from ["q", "s", "y"]
  })");
}

TEST(RecogniseL2Norm, ASumOfProductsStays) {
  leave("%x: f32[3, 40], %z: f32[3, 40]",
        {{"p", "Mul", "%x, %z"}, {"q", "Abs", "%p"}, {"s", "ReduceSum", "%q, %last"}, {"y", "Sqrt", "%s"}},
        recognise_l2_norm());
}

TEST(RecogniseSilu, WithAndWithoutASlope) {
  const std::string x = "%x: f32[3, 40]";
  recognise(x, {{"g", "Sigmoid", "%x"}, {"y", "Mul", "%x, %g"}}, recognise_silu(),
            R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Swish(%x) version 24 @"y" from ["g", "y"]
  })");
  recognise(x, {{"s", "Mul", "%x, %root_two"}, {"g", "Sigmoid", "%s"}, {"y", "Mul", "%g, %x"}},
            recognise_silu(), R"(graph "g" (%x: f32[3, 40]) -> (%y) {
      %y: f32[3, 40] = Swish(%x) {alpha = float 1.4142135} version 24 @"y" from ["g", "s", "y"]
  })");
}

}  // namespace
}  // namespace vernier
