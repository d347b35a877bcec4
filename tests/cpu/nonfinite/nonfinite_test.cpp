// NaN and infinities come out where the reference has them: of every contraction, with everything that can
// follow it in one kernel, by every tactic, of every type.
#include "cpu/nonfinite/nonfinite.h"

namespace vernier::nonfinite {
namespace {

struct Anchor {
  const char* name;
  Dims x, w, y;
  std::string node;  // makes %c of %x, %w and %b
  bool biased = true;
};

const std::vector<Anchor>& anchors() {
  static const std::vector<Anchor> all = {
      {"conv 1x1", {2, 32, 9, 8}, {48, 32, 1, 1}, {2, 48, 9, 8}, "Conv(%x, %w, %b) version 11"},
      {"conv 3x3",
       {1, 32, 9, 10},
       {48, 32, 3, 3},
       {1, 48, 9, 10},
       "Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11"},
      {"conv of few channels",
       {1, 3, 9, 10},
       {10, 3, 3, 3},
       {1, 10, 9, 10},
       "Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11"},
      {"conv of one channel",
       {1, 1, 9, 10},
       {16, 1, 3, 3},
       {1, 16, 9, 10},
       "Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11"},
      {"conv of odd channels",
       {1, 33, 9, 10},
       {20, 33, 3, 3},
       {1, 20, 9, 10},
       "Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1]} version 11"},
      {"conv 1x1 of odd channels",
       {1, 35, 9, 10},
       {32, 35, 1, 1},
       {1, 32, 9, 10},
       "Conv(%x, %w, %b) version 11"},
      {"groups of odd channels",
       {1, 20, 9, 10},
       {16, 5, 3, 3},
       {1, 16, 9, 10},
       "Conv(%x, %w, %b) {group = 4, pads = ints[1, 1, 1, 1]} version 11"},
      {"depthwise",
       {1, 32, 9, 10},
       {32, 1, 3, 3},
       {1, 32, 9, 10},
       "Conv(%x, %w, %b) {group = 32, pads = ints[1, 1, 1, 1]} version 11"},
      {"grouped",
       {1, 32, 9, 10},
       {32, 16, 3, 3},
       {1, 32, 9, 10},
       "Conv(%x, %w, %b) {group = 2, pads = ints[1, 1, 1, 1]} version 11"},
      {"conv of lines",
       {2, 16, 24},
       {16, 16, 3},
       {2, 16, 24},
       "Conv(%x, %w, %b) {pads = ints[1, 1]} version 11"},
      {"transposed conv",
       {1, 16, 5, 6},
       {16, 24, 2, 2},
       {1, 24, 10, 12},
       "ConvTranspose(%x, %w, %b) {strides = ints[2, 2]} version 11"},
      {"gemm", {9, 40}, {40, 48}, {9, 48}, "Gemm(%x, %w, %b) version 13"},
      {"matmul", {9, 40}, {40, 48}, {9, 48}, "MatMul(%x, %w) version 13", false},
      {"matmul of odd rows", {9, 41}, {41, 33}, {9, 33}, "MatMul(%x, %w) version 13", false},
      {"one row", {1, 40}, {40, 48}, {1, 48}, "MatMul(%x, %w) version 13", false},
      {"batched matmul", {2, 9, 40}, {2, 40, 24}, {2, 9, 24}, "MatMul(%x, %w) version 13", false},
      {"batched matmul of odd rows", {2, 9, 41}, {2, 41, 23}, {2, 9, 23}, "MatMul(%x, %w) version 13", false},
      {"matmul of tokens", {2, 9, 40}, {40, 24}, {2, 9, 24}, "MatMul(%x, %w) version 13", false},
  };
  return all;
}

// Makes %y of %c; %r is of its type and shape, %v has a number for each channel or column.
const std::vector<std::string>& epilogues() {
  static const std::vector<std::string> all = {
      "%y: T[*] = Relu(%c) version 14",
      "%y: T[*] = LeakyRelu(%c) {alpha = float 0.25} version 16",
      "%y: T[*] = LeakyRelu(%c) {alpha = float 0} version 16",
      "%y: T[*] = Clip(%c, %low, %high) version 13",
      "%y: T[*] = Clip(%c, %low) version 13",
      "%y: T[*] = Clip(%c) {min = float -0.5, max = float 1.5} version 6",
      "%y: T[*] = Sigmoid(%c) version 13",
      "%y: T[*] = Tanh(%c) version 13",
      "%y: T[*] = Elu(%c) version 6",
      "%y: T[*] = Abs(%c) version 13",
      "%s: T[*] = Exp(%c) version 13\n %y: T[*] = Sqrt(%s) version 13",
      "%y: T[*] = Exp(%c) version 13",
      "%y: T[*] = Neg(%c) version 13",
      "%y: T[*] = HardSwish(%c) version 14",
      "%y: T[*] = Swish(%c) version 24",
      "%y: T[*] = HardSigmoid(%c) version 6",
      "%y: T[*] = Gelu(%c) version 20",
      "%y: T[*] = Gelu(%c) {approximate = \"tanh\"} version 20",
      "%y: T[*] = Softplus(%c) version 1",
      "%y: T[*] = Add(%c, %low) version 14",
      "%y: T[*] = Add(%c, %v) version 14",
      "%y: T[*] = Add(%c, %r) version 14",
      "%y: T[*] = Sub(%c, %r) version 14",
      "%y: T[*] = Mul(%c, %high) version 14",
      "%y: T[*] = Mul(%c, %v) version 14",
      "%y: T[*] = Mul(%c, %r) version 14",
      "%y: T[*] = Div(%c, %r) version 14",
      "%y: T[*] = Max(%c, %low) version 13",
      "%y: T[*] = Max(%low, %c) version 13",
      "%y: T[*] = Min(%c, %high) version 13",
      "%y: T[*] = Max(%c, %v) version 13",
      "%y: T[*] = Min(%c, %r) version 13",
      "%y: T[*] = Max(%c, %r) version 13",
      "%s: T[*] = Add(%c, %r) version 14\n %y: T[*] = Relu(%s) version 14",
      "%s: T[*] = Add(%c, %v) version 14\n %y: T[*] = Relu(%s) version 14",
      "%s: T[*] = Relu(%c) version 14\n %y: T[*] = Add(%s, %r) version 14",
      "%s: T[*] = Relu(%c) version 14\n %y: T[*] = Mul(%s, %v) version 14",
      "%s: T[*] = Clip(%c, %low, %high) version 13\n %y: T[*] = Mul(%s, %r) version 14",
      "%s: T[*] = Add(%c, %r) version 14\n %y: T[*] = Clip(%s, %low, %high) version 13",
      "%s: T[*] = Max(%c, %low) version 13\n %y: T[*] = Min(%s, %high) version 13",
      "%s: T[*] = Sigmoid(%c) version 13\n %y: T[*] = Mul(%c, %s) version 14",
      "%s: T[*] = HardSigmoid(%c) version 6\n %y: T[*] = Mul(%c, %s) version 14",
      "%s: T[*] = Exp(%c) version 13\n %y: T[*] = Relu(%s) version 14",
  };
  return all;
}

// Which operands hold what is not finite.
enum class Where { kInput, kWeights, kResidual };

// A NaN and both infinities, far from each other in memory: each in the middle of `group` elements. Of
// weights those are the taps of a window, whose middle never meets the padding, of which 0 times infinity
// would come.
void poison(std::vector<double>& values, size_t group = 1) {
  const size_t count = values.size();
  const auto put = [&](size_t at, double value) { values[at / group * group + group / 2] = value; };
  put(count / 7, kNan);
  put(count / 2, kInfinity);
  put(count - count / 9 - 1, -kInfinity);
}

size_t taps_of(const Anchor& anchor) {
  return anchor.w.size() < 3 || !anchor.node.starts_with("Conv(")
             ? 1
             : static_cast<size_t>(element_count(Dims(anchor.w.begin() + 2, anchor.w.end())));
}

Model model_of(const Anchor& anchor, const std::string& epilogue, ElementType element, Where where) {
  const auto type = [&](const Dims& dims) { return ValueType::of(element, to_shape(dims)).text(); };
  const auto constant = [&](const std::string& name, const Dims& dims) {
    return "const %" + name + " = " + type(dims) + " hex\"" +
           std::string(static_cast<size_t>(element_count(dims)) * element_size(element) * 2, '0') + "\"\n";
  };
  const bool image = anchor.x.size() > 2 && anchor.node.starts_with("Conv");
  const int64_t columns = image ? anchor.y[1] : anchor.y.back();
  Dims vector(image ? anchor.y.size() - 1 : 1, 1);
  vector[0] = columns;
  std::string text = "graph \"g\" (%x: " + type(anchor.x) + ", %r: " + type(anchor.y) + ") -> (%y) {\n" +
                     constant("w", anchor.w) + constant("b", {columns}) + constant("v", vector) +
                     constant("low", {}) + constant("high", {});
  text += "%c: T[*] = " + anchor.node + " @\"c\" from [\"c\"]\n";
  text += named(epilogue) + "}";
  replace_all(text, "T[*]", std::string(element_type_short_name(element)) + "[*]");
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    if (!value->is_constant()) continue;
    const std::string& name = value->name;
    auto values = numbers(value->constant->size(), static_cast<uint64_t>(name[0]), name == "w" ? 0.2 : 1);
    if (name == "low") values = {-0.5};
    if (name == "high") values = {1.5};
    if (where == Where::kWeights && name == "w") poison(values, taps_of(anchor));
    if (where == Where::kWeights && name == "b") poison(values);
    value->constant = Tensor::from_doubles(element, value->constant->dims(), values);
  }
  return model;
}

NamedData data_of(const Anchor& anchor, ElementType element, Where where) {
  auto x = numbers(element_count(anchor.x), 1, 1), r = numbers(element_count(anchor.y), 2, 1);
  for (double& each : r) each += std::copysign(0.5, each);  // a divisor
  if (where == Where::kInput) poison(x);
  if (where == Where::kResidual) poison(r);
  return {{"x", Tensor::from_doubles(element, anchor.x, x)},
          {"r", Tensor::from_doubles(element, anchor.y, r)}};
}

class NonFinite : public testing::TestWithParam<ElementType> {};

TEST_P(NonFinite, ContractionsWithEpilogues) {
  const ElementType element = GetParam();
  for (const Anchor& anchor : anchors()) {
    for (const std::string& epilogue : epilogues()) {
      for (const Where where : {Where::kInput, Where::kWeights, Where::kResidual}) {
        if (where == Where::kResidual && epilogue.find("%r") == std::string::npos) continue;
        SCOPED_TRACE(fmt::format("{} {} poisoned {}", anchor.name, epilogue, static_cast<int>(where)));
        expect_as_reference(model_of(anchor, epilogue, element, where), data_of(anchor, element, where),
                            tolerance_of(element));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NonFinite,
                         testing::Values(ElementType::kFloat, ElementType::kBFloat16, ElementType::kFloat16),
                         [](const auto& of) { return std::string(element_type_short_name(of.param)); });

}  // namespace
}  // namespace vernier::nonfinite
