// Tensors without elements: kernels of every family against the reference, with a zero in each axis in turn,
// at sizes that are known when a plan is made and at sizes that only running tells.
#include "cpu/nonfinite/nonfinite.h"

namespace vernier {
namespace {

using nonfinite::named;
using nonfinite::replace_all;

// A constant of floats.
std::string constant(const std::string& name, const Dims& dims) {
  std::string text =
      "const %" + name + " = " + ValueType::of(ElementType::kFloat, to_shape(dims)).text() + " hex\"";
  for (int64_t i = 0; i < element_count(dims); ++i) text += i % 2 == 0 ? "0000003f" : "000080bf";  // 0.5, -1
  return text + "\"\n";
}

// A constant vector of integers below 256.
std::string constant(const std::string& name, const std::vector<uint8_t>& values) {
  std::string text = fmt::format("const %{} = i64[{}] hex\"", name, values.size());
  for (const uint8_t value : values) text += fmt::format("{:02x}00000000000000", value);
  return text + "\"\n";
}

struct Empty {
  Dims x;
  std::string text;  // makes %y of %x
  std::map<std::string, Dims> constants = {};
  std::map<std::string, std::vector<uint8_t>> ints = {};  // constant vectors of i64
};

const std::vector<Empty>& all_empty() {
  static const std::vector<Empty> all = {
      {{2, 3, 4}, "%y: f32[*] = Mul(%x, %c) version 14", {{"c", {1}}}},
      {{2, 3, 4}, "%y: f32[*] = Sub(%c, %x) version 14", {{"c", {1}}}},
      {{2, 3, 4}, "%y: f32[*] = Add(%x, %c) version 14", {{"c", {1, 1}}}},
      {{2, 3, 4}, "%y: bool[*] = Equal(%x, %c) version 13", {{"c", {1}}}},
      {{2, 3, 4}, "%y: bool[*] = Greater(%x, %c) version 13", {{"c", {1}}}},
      {{2, 3, 4}, "%y: f32[*] = Clip(%x, %c, %d) version 13", {{"c", {}}, {"d", {}}}},
      {{2, 3, 4}, "%y: f32[*] = Mean(%x, %c) version 13", {{"c", {1}}}},
      {{2, 3, 4}, "%y: f32[*] = Max(%x, %c) version 13", {{"c", {1}}}},
      {{2, 3, 4}, "%s: f32[*] = Mul(%x, %c) version 14\n %y: f32[*] = Exp(%s) version 13", {{"c", {1}}}},
      {{2, 3, 4}, "%y: f32[*] = Relu(%x) version 14"},
      {{2, 3, 4}, "%y: f16[*] = Cast(%x) {to = 10} version 13"},
      {{2, 3, 4}, "%y: f32[*] = Softmax(%x) version 13"},
      {{2, 3, 4}, "%y: f32[*] = LogSoftmax(%x) {axis = 1} version 13"},
      {{2, 3, 4}, "%y: f32[*] = Transpose(%x) {perm = ints[2, 0, 1]} version 13"},
      {{2, 3, 4}, "%y: f32[*] = Concat(%x, %x) {axis = 1} version 13"},
      {{2, 3, 4}, "%y: f32[*] = ReduceSum(%x) {axes = ints[1]} version 11"},
      {{2, 3, 4}, "%y: f32[*] = ReduceSum(%x) {axes = ints[2]} version 11"},
      {{2, 3, 4}, "%y: f32[*] = ReduceMax(%x) {axes = ints[0]} version 13"},
      {{2, 3, 4}, "%y: f32[*] = ReduceMin(%x) {axes = ints[2]} version 13"},
      {{2, 3, 4}, "%y: f32[*] = ReduceProd(%x) {axes = ints[1]} version 13"},
      {{2, 3, 4}, "%y: f32[*] = ReduceL2(%x) {axes = ints[1]} version 13"},
      {{2, 3, 4}, "%y: f32[*] = LpNormalization(%x) version 1"},
      {{2, 3, 4},
       "%t: f32[*] = Transpose(%x) {perm = ints[0, 2, 1]} version 13\n"
       "%y: f32[*] = MatMul(%x, %t) version 13"},
      {{2, 3, 4},
       "%t: f32[*] = Transpose(%x) {perm = ints[0, 2, 1]} version 13\n"
       "%s: f32[*] = MatMul(%x, %t) version 13\n %y: f32[*] = Relu(%s) version 14"},
      {{3, 4},
       "%t: f32[*] = Transpose(%x) {perm = ints[1, 0]} version 13\n"
       "%y: f32[*] = Gemm(%x, %t) version 13"},
      {{2, 3, 4}, "%y: f32[*] = MatMul(%x, %w) version 13", {{"w", {4, 5}}}},
      {{3, 4}, "%y: f32[*] = Gemm(%x, %w, %b) version 13", {{"w", {4, 5}}, {"b", {5}}}},
      {{3, 0}, "%y: f32[*] = Gemm(%x, %w, %b) version 13", {{"w", {0, 5}}, {"b", {5}}}},
      {{2, 3, 6, 7}, "%y: f32[*] = Conv(%x, %w, %b) version 11", {{"w", {4, 3, 1, 1}}, {"b", {4}}}},
      {{2, 3, 6, 7},
       "%s: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11\n %y: f32[*] = Relu(%s) version 14",
       {{"w", {4, 3, 3, 3}}}},
      {{2, 0, 6, 7}, "%y: f32[*] = Conv(%x, %w, %b) version 11", {{"w", {4, 0, 1, 1}}, {"b", {4}}}},
      {{2, 3, 6, 7}, "%y: f32[*] = ConvTranspose(%x, %w) version 11", {{"w", {3, 4, 2, 2}}}},
      {{2, 3, 6, 7},
       "%y: f32[*] = MaxPool(%x) {kernel_shape = ints[2, 2], pads = ints[1, 1, 1, 1]} version 12"},
      {{2, 3, 6, 7},
       "%y: f32[*] = AveragePool(%x) {kernel_shape = ints[2, 2], pads = ints[1, 1, 1, 1]} version 19"},
      {{2, 3, 6, 7}, "%y: f32[*] = GlobalAveragePool(%x) version 1"},
      {{2, 3, 6, 7}, "%y: f32[*] = GlobalMaxPool(%x) version 1"},
      {{2, 3, 6, 7}, "%y: f32[*] = LRN(%x) {size = 3} version 13"},
      {{2, 3, 6, 7}, "%y: f32[*] = DepthToSpace(%x) {blocksize = 1} version 13"},
      {{2, 3, 6, 7}, "%y: f32[*] = Attention(%x, %x, %x) version 23"},
      {{2, 3, 4},
       "%s: i64[*] = ArgMax(%x) {axis = 1} version 13\n %y: f32[*] = Cast(%s) {to = 1} version 13"},
      {{2, 3, 4}, "%y: f32[*] = CumSum(%x, %c) version 14"},
      {{2, 3, 4},
       "%s: i64[*] = NonZero(%x) version 13\n %t: f32[*] = Cast(%s) {to = 1} version 13\n"
       "%y: f32[*] = Mul(%t, %c) version 14",
       {{"c", {1}}}},
      {{5, 2, 3},
       "%y: f32[*] = LSTM(%x, %w, %r) {hidden_size = 4} version 14",
       {{"w", {1, 16, 3}}, {"r", {1, 16, 4}}}},
      {{5, 2, 3},
       "%y: f32[*] = GRU(%x, %w, %r) {hidden_size = 4} version 14",
       {{"w", {1, 12, 3}}, {"r", {1, 12, 4}}}},
      {{5, 2, 3},
       "%y: f32[*] = RNN(%x, %w, %r) {hidden_size = 4} version 14",
       {{"w", {1, 4, 3}}, {"r", {1, 4, 4}}}},
      {{2, 3, 4}, "%y: f32[*] = LayerNormalization(%x, %s, %b) version 17", {{"s", {4}}, {"b", {4}}}},
      {{2, 3, 4}, "%y: f32[*] = RMSNormalization(%x, %s) version 23", {{"s", {4}}}},
      {{2, 3, 4}, "%y: f32[*] = InstanceNormalization(%x, %s, %b) version 6", {{"s", {3}}, {"b", {3}}}},
      {{2, 4, 3},
       "%y: f32[*] = GroupNormalization(%x, %s, %b) {num_groups = 2} version 21",
       {{"s", {4}}, {"b", {4}}}},
      {{2, 3, 4}, "%y: f32[*] = BatchNormalization(%x, %s, %b, %b, %s) version 15", {{"s", {3}}, {"b", {3}}}},
      {{2, 3, 6, 7},
       "%t: f32[*] = Cast(%i) {to = 1} version 13\n"
       "%y: f32[*] = Resize(%x, _, %t) {mode = \"linear\"} version 13",
       {},
       {{"i", {1, 1, 2, 2}}}},
      {{2, 3, 6, 7}, "%y: f32[*] = GridSample(%x, %g) version 20", {{"g", {2, 5, 5, 2}}}},
      {{2, 3, 4}, "%y: f32[*] = Gather(%x, %i) {axis = 1} version 13", {}, {{"i", {2, 0, 1}}}},
      {{2, 3, 4}, "%y: f32[*] = GatherND(%x, %i) version 13", {}, {{"i", {0, 2}}}},
      {{2, 3, 4}, "%y: f32[*] = Pad(%x, %p) version 13", {}, {{"p", {0, 1, 0, 1, 0, 2}}}},
      {{2, 3, 4}, "%y: f32[*] = Slice(%x, %i, %j, %i) version 13", {}, {{"i", {1}}, {"j", {9}}}},
      {{2, 4, 4}, "%y: f32[*], %z: f32[*] = Split(%x) {axis = 1, num_outputs = 2} version 18"},
      {{2, 3, 4}, "%y: f32[*] = Tile(%x, %i) version 13", {}, {{"i", {2, 1, 3}}}},
      {{2, 3, 4}, "%y: f32[*] = Expand(%x, %i) version 13", {}, {{"i", {5, 1, 1, 1}}}},
      {{2, 3, 4}, "%y: f32[*] = Reshape(%x, %i) version 14", {}, {{"i", {2, 0, 2, 2}}}},
      {{2, 3, 4}, "%y: f32[*], %k: i64[*] = TopK(%x, %i) {axis = 1} version 11", {}, {{"i", {1}}}},
      {{2, 3, 4},
       "%q: u8[*] = QuantizeLinear(%x, %c) version 13\n%y: f32[*] = DequantizeLinear(%q, %c) version 13",
       {{"c", {}}}},
      {{2, 3, 4},
       "%q: u8[*] = QuantizeLinear(%x, %c) {axis = 1} version 13\n"
       "%y: f32[*] = DequantizeLinear(%q, %c) {axis = 1} version 13",
       {{"c", {3}}}},
  };
  return all;
}

// Nothing where it cannot be inferred, or the reference refuses it.
std::optional<Tensor> wanted_of(const Model& model, const NamedData& data) {
  try {
    return run_reference(model, data).outputs[0].as_tensor();
  } catch (const Error&) {
    return std::nullopt;
  }
}

void expect_like_reference(const std::string& graph, const NamedData& data) {
  std::optional<Model> model;
  try {
    model = parse_graph(graph);
  } catch (const Error&) {
    return;  // inference refuses it
  }
  const auto wanted = wanted_of(*model, data);
  for (const Layout layout : {Layout::kChannelsLast, Layout::kBlocked16}) {
    std::optional<Tensor> is;
    try {
      Compiler compiler(*model);
      const PlanChoices choices{layout, {}};
      compiler.prepare(nonfinite::types_of(*model), choices);
      const auto engine = compiler.engine();
      Session session(engine);
      is = session.run(data).at("y").as_tensor();
    } catch (const Error& error) {
      EXPECT_FALSE(wanted) << error.what();
      continue;
    }
    if (!wanted) continue;
    ASSERT_EQ(is->dims(), wanted->dims());
    EXPECT_EQ(nonfinite::difference(is->to_doubles(), wanted->to_doubles(), 1e-5, false), "");
  }
}

// With the axis as it is, 0; or made 0 by Compress, which only running tells.
void expect_without(const Empty& each, size_t axis, bool only_when_running) {
  SCOPED_TRACE(fmt::format("{} axis {} {} {}", dims_text(each.x), axis, only_when_running ? "run" : "static",
                           each.text));
  Dims x = each.x;
  if (!only_when_running) x[axis] = 0;
  std::string text =
      "graph \"g\" (%a: " + ValueType::of(ElementType::kFloat, to_shape(x)).text() + ") -> (%y) {\n";
  for (const auto& [name, dims] : each.constants) text += constant(name, dims);
  for (const auto& [name, values] : each.ints) text += constant(name, values);
  if (only_when_running) {
    std::string flags;
    for (int64_t i = 0; i < x[axis]; ++i) flags += "00";
    text += fmt::format("const %f = bool[{}] hex\"{}\"\n", x[axis], flags);
    text += fmt::format("%x: f32[*] = Compress(%a, %f) {{axis = {}}} version 11 @\"x\" from [\"x\"]\n", axis);
  } else {
    text += "%x: f32[*] = Identity(%a) version 14 @\"x\" from [\"x\"]\n";
  }
  const auto values = nonfinite::numbers(element_count(x), 1, 1);
  expect_like_reference(text + named(each.text) + "}",
                        {{"a", Tensor::from_doubles(ElementType::kFloat, x, values)}});
}

TEST(Empty, InEachAxis) {
  for (const Empty& each : all_empty()) {
    for (size_t axis = 0; axis < each.x.size(); ++axis) expect_without(each, axis, false);
  }
}

TEST(Empty, InEachAxisAsRunningTells) {
  for (const Empty& each : all_empty()) {
    for (size_t axis = 0; axis < each.x.size(); ++axis) {
      if (each.x[axis] > 0) expect_without(each, axis, true);
    }
  }
}

// Two kernels of one process whose layouts differ in strides of axes of one element only.
TEST(OnePixel, EachLayoutGetsItsOwnPrimitive) {
  const Dims x = {2, 17, 1, 1}, w = {1, 17, 5, 5};
  const Model model =
      parse_graph("graph \"g\" (%x: f32[2, 17, 1, 1]) -> (%y) {\n" + constant("w", w) +
                  named("%y: f32[*] = Conv(%x, %w) {pads = ints[2, 2, 2, 2]} version 11") + "}");
  const NamedData data = random_data(*model.graph, 1);
  const auto wanted = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  for (const Layout layout :
       {Layout::kChannelsLast, Layout::kPlain, Layout::kBlocked16, Layout::kChannelsLast}) {
    Compiler compiler(model);
    const PlanChoices choices{layout, {}};
    compiler.prepare(nonfinite::types_of(model), choices);
    const auto engine = compiler.engine();
    Session session(engine);
    EXPECT_EQ(nonfinite::difference(session.run(data).at("y").as_tensor().to_doubles(), wanted, 1e-5, false),
              "")
        << static_cast<int>(layout);
  }
}

}  // namespace
}  // namespace vernier
