// Operators that are no contractions, and chains of them: NaN and infinities come out where the reference has
// them.
#include "cpu/nonfinite/nonfinite.h"

namespace vernier::nonfinite {
namespace {

struct Chain {
  Dims x;
  std::string text;  // makes %y of %x; %k is [the last axis of x], %m of its shape, %c and %p of its channels
};

const std::vector<Chain>& chains() {
  static const Dims kImage = {1, 20, 9, 10}, kRows = {6, 40};
  static const std::vector<Chain> all = {
      {kImage, "%y: T[*] = MaxPool(%x) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 12"},
      {kImage, "%y: T[*] = MaxPool(%x) {kernel_shape = ints[2, 2], strides = ints[2, 2]} version 12"},
      {{1, 3, 9, 10},
       "%y: T[*] = MaxPool(%x) {kernel_shape = ints[2, 3], dilations = ints[2, 1]} version 12"},
      {{2, 20, 30}, "%y: T[*] = MaxPool(%x) {kernel_shape = ints[3]} version 12"},
      {{1, 4, 5, 6, 7}, "%y: T[*] = MaxPool(%x) {kernel_shape = ints[2, 2, 2]} version 12"},
      {kImage, "%y: T[*] = GlobalMaxPool(%x) version 1"},
      {kImage, "%y: T[*] = GlobalAveragePool(%x) version 1"},
      {kImage, "%y: T[*] = AveragePool(%x) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1]} version 19"},
      {kImage, "%y: T[*] = LRN(%x) {size = 5} version 13"},
      {kImage, "%y: T[*] = InstanceNormalization(%x, %c, %c) version 6"},
      {kImage, "%y: T[*] = BatchNormalization(%x, %c, %c, %c, %p) version 15"},
      {kImage, "%y: T[*] = GroupNormalization(%x, %c, %c) {num_groups = 4} version 21"},
      {kRows, "%y: T[*] = LayerNormalization(%x, %k, %k) version 17"},
      {kRows, "%y: T[*] = RMSNormalization(%x, %k) version 23"},
      {kRows, "%y: T[*] = LpNormalization(%x) version 1"},
      {kRows, "%s: i64[*] = ArgMax(%x) {axis = 1} version 13\n %y: T[*] = Cast(%s) {to = TYPE} version 13"},
      {kRows, "%s: i64[*] = ArgMin(%x) {axis = 0} version 13\n %y: T[*] = Cast(%s) {to = TYPE} version 13"},
      {kRows, "%y: T[*] = Max(%x, %k, %m) version 13"},
      {kRows, "%y: T[*] = Min(%x, %k, %m) version 13"},
      {kRows, "%y: T[*] = Mean(%x, %k, %m) version 13"},
      {kRows, "%y: T[*] = Clip(%x, %low, %high) version 13"},
      {kRows, "%s: T[*] = Clip(%x, %low, %high) version 13\n %y: T[*] = Mul(%s, %k) version 14"},
      {kRows, "%s: T[*] = Relu(%x) version 14\n %y: T[*] = Add(%s, %m) version 14"},
      {kRows, "%y: T[*] = PRelu(%x, %k) version 16"},
      {{1, 2, 8, 16}, "%y: T[*] = Attention(%x, %x, %x) version 23"},
      {{1, 2, 40, 32}, "%y: T[*] = Attention(%x, %x, %x) {is_causal = 1} version 23"},
      {{3, 16, 8},
       "%t: T[*] = Transpose(%x) {perm = ints[0, 2, 1]} version 13\n %s: T[*] = MatMul(%x, %t) version 13\n"
       "%q: T[*] = Softmax(%s) version 13\n %y: T[*] = MatMul(%q, %x) version 13"},
  };
  return all;
}

std::vector<Chain> all_chains() {
  std::vector<Chain> result = chains();
  const Dims rows = {6, 40};
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2",
                         "ReduceProd", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    const int version = std::string(op) == "ReduceSum" ? 11 : 13;
    for (const int axis : {0, 1})
      result.push_back(
          {rows, fmt::format("%y: T[*] = {}(%x) {{axes = ints[{}]}} version {}", op, axis, version)});
  }
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const int axis : {0, 1})
      result.push_back({rows, fmt::format("%y: T[*] = {}(%x) {{axis = {}}} version 13", op, axis)});
  }
  for (const char* op : {"Sign version 13",       "ThresholdedRelu version 10",
                         "Selu version 6",        "Celu version 12",
                         "Elu version 6",         "Mish version 18",
                         "Softsign version 1",    "Softplus version 1",
                         "Gelu version 20",       "HardSwish version 14",
                         "HardSigmoid version 6", "Swish version 24",
                         "Sigmoid version 13",    "Tanh version 13",
                         "Erf version 13",        "Exp version 13",
                         "Floor version 13",      "Shrink version 9",
                         "Relu version 14",       "LeakyRelu version 16",
                         "Abs version 13",        "Neg version 13",
                         "Round version 22",      "Reciprocal version 13"}) {
    const std::string text = op;
    const size_t space = text.find(' ');
    result.push_back({rows, "%y: T[*] = " + text.substr(0, space) + "(%x)" + text.substr(space)});
  }
  return result;
}

Model model_of(const Chain& chain, ElementType element) {
  const auto type = [&](const Dims& dims) { return ValueType::of(element, to_shape(dims)).text(); };
  const auto constant = [&](const std::string& name, const Dims& dims) {
    return "const %" + name + " = " + type(dims) + " hex\"" +
           std::string(static_cast<size_t>(element_count(dims)) * element_size(element) * 2, '0') + "\"\n";
  };
  const Dims channels = {chain.x[1]};
  std::string text = "graph \"g\" (%x: " + type(chain.x) + ") -> (%y) {\n" + constant("k", {chain.x.back()}) +
                     constant("m", chain.x) + constant("low", {}) + constant("high", {}) +
                     constant("c", channels) + constant("p", channels) + named(chain.text) + "}";
  replace_all(text, "T[*]", std::string(element_type_short_name(element)) + "[*]");
  replace_all(text, "TYPE", std::to_string(static_cast<int>(element)));
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    if (!value->is_constant()) continue;
    const std::string& name = value->name;
    auto values = numbers(value->constant->size(), static_cast<uint64_t>(name[0]), 1);
    if (name == "low") values = {-0.5};
    if (name == "high") values = {1.5};
    if (name == "p") {
      for (double& variance : values) variance = 1 + std::abs(variance);
    }
    value->constant = Tensor::from_doubles(element, value->constant->dims(), values);
  }
  return model;
}

class NonFiniteOperators : public testing::TestWithParam<ElementType> {};

TEST_P(NonFiniteOperators, AsTheReference) {
  const ElementType element = GetParam();
  for (const Chain& chain : all_chains()) {
    for (const double value : {0.5, kNan, kInfinity, -kInfinity}) {
      SCOPED_TRACE(fmt::format("{} {} poisoned {}", dims_text(chain.x), chain.text, value));
      auto x = numbers(element_count(chain.x), 1, 1);
      x[x.size() / 3] = value;
      x[x.size() / 3 * 2] = value;
      expect_as_reference(model_of(chain, element), {{"x", Tensor::from_doubles(element, chain.x, x)}},
                          tolerance_of(element));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NonFiniteOperators,
                         testing::Values(ElementType::kFloat, ElementType::kBFloat16, ElementType::kFloat16,
                                         ElementType::kDouble),
                         [](const auto& of) { return std::string(element_type_short_name(of.param)); });

}  // namespace
}  // namespace vernier::nonfinite
