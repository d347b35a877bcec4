// Operators that are read as another opset defines them, that work along other axes, or take operands or
// equals in another order.
#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string unary(const std::string& node, const char* dims = "2, 3, 4") {
  return of_floats(fmt::format("%x: f32[{}]", dims), node);
}

std::string softmax(const char* op, const std::string& attributes, int version) {
  return unary(fmt::format("{}(%x) {{{}}} version {}", op, attributes, version));
}

std::string softmax_alone(int version) {
  return unary(fmt::format("Softmax(%x) version {}", version));
}

const std::vector<PlantedFault> kLostFunctions = {
    {"EluPassesOn", "B31", unary("Elu(%x) version 6"), runs(unary("Identity(%x) version 14"))},
    {"SoftmaxPassesOn", "B31", softmax("Softmax", "axis = -1", 13), runs(unary("Identity(%x) version 14"))},
    {"ReluForGelu", "B31", unary("Gelu(%x) version 20"), runs(unary("Relu(%x) version 14")), {}, 20},
};
VERNIER_PLANTED(LostFunctions, kLostFunctions);

const std::vector<PlantedFault> kOpsetFaults = {
    {"SoftmaxNowOneAxis", "B36", softmax("Softmax", "axis = 1", 11),
     runs(softmax("Softmax", "axis = 1", 13))},
    {"SoftmaxDefault", "B36", softmax_alone(11), runs(softmax_alone(13))},
    {"LogSoftmaxNowAllAxes", "B36", softmax("LogSoftmax", "axis = 1", 13),
     runs(softmax("LogSoftmax", "axis = 1", 11))},
    {"Hardmax", "B36", softmax("Hardmax", "axis = 1", 11), runs(softmax("Hardmax", "axis = 1", 13))},
    {"Dropout", "B36", unary("Dropout(%x) version 13"),
     writes([](const Tensor& y) { return mapped(y, [](double value) { return 2 * value; }); })},
};
VERNIER_PLANTED(OpsetFaults, kOpsetFaults);

// Integers or truth values that are compared.
std::string compared(const char* op, const char* type = "i64") {
  return fmt::format(
      "graph \"g\" (%x: {}[12], %w: {}[12]) -> (%y) {{\n %y: bool[*] = {}(%x, %w) version 7 @\"n\" from "
      "[\"n\"]\n}}",
      type, type, op);
}
const NamedData kFewNumbers{{"x", integers({12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3})},
                            {"w", integers({12}, {1, 2, 5, 4, 5, 8, 7, 2, 9, 9, 2, 7})}};
Tensor truths(const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kBool, {static_cast<int64_t>(values.size())}, values);
}
const NamedData kTruths{{"x", truths({1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1})},
                        {"w", truths({0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0})}};

std::string two(const std::string& node, const char* a, const char* b) {
  return of_floats(fmt::format("%x: f32[{}], %w: f32[{}]", a, b), node);
}

std::string attention() {
  return of_floats("%q: f32[1, 4, 5, 8], %k: f32[1, 2, 7, 8], %v: f32[1, 2, 7, 6]",
                   "Attention(%q, %k, %v) version 23");
}

// Attention by the softmax of another axis, of heads that are all there.
FaultyEngine normalises_along(const char* axis) {
  return [axis](const Model&, const NamedData& data) {
    NamedData all = data;
    for (const char* name : {"k", "v"}) all[name] = taken(data.at(name).tensor, 1, {0, 0, 1, 1});
    all["k"] = exchanged(all["k"].tensor, 2, 3);
    all["c"] = floats({}, {1 / std::sqrt(8.0)});
    const std::string by_hand = fmt::format(
        "graph \"g\" (%q: f32[1, 4, 5, 8], %k: f32[1, 4, 8, 7], %v: f32[1, 4, 7, 6], %c: f32[]) -> (%y) {{\n"
        " %s: f32[*] = MatMul(%q, %k) version 13 @\"s\" from [\"s\"]\n"
        " %d: f32[*] = Mul(%s, %c) version 14 @\"d\" from [\"d\"]\n"
        " %p: f32[*] = Softmax(%d) {{axis = {}}} version 13 @\"p\" from [\"p\"]\n"
        " %y: f32[*] = MatMul(%p, %v) version 13 @\"n\" from [\"n\"]\n}}",
        axis);
    return outputs_of(parse_planted(by_hand, 23), all);
  };
}

const std::string kHeads = two("MatMul(%x, %w) version 13", "2, 4, 5, 6", "2, 4, 6, 5");

const std::vector<PlantedFault> kHeadFaults = {
    {"SoftmaxOverQueries", "B31", attention(), normalises_along("2"), {}, 23},
    {"SoftmaxOverHeads", "B31", attention(), normalises_along("1"), {}, 23},
    {"NextHead", "B31", kHeads, reads("w", [](const Tensor& w) { return rolled(w, 1, 1); })},
    {"HeadsOfTheOtherEnd", "B31", kHeads, reads("x", [](const Tensor& x) { return reversed(x, 1); })},
    {"HeadsBeforeBatches", "B31", kHeads,
     reads("w", [](const Tensor& w) { return exchanged(w, 0, 1).reshaped(w.dims()); })},
};
VERNIER_PLANTED(HeadFaults, kHeadFaults);

const std::vector<PlantedFault> kTruthFaults = {
    {"NotEqual", "B31", compared("Equal"),
     writes([](const Tensor& y) { return mapped(y, [](double each) { return 1 - each; }); }), kFewNumbers},
    {"NegatedOperand", "B31", compared("And", "bool"),
     reads("w", [](const Tensor& w) { return mapped(w, [](double each) { return 1 - each; }); }), kTruths},
};
TEST(TruthFaults, AreFound) {  // there is no noise of truth values
  for (const PlantedFault& fault : kTruthFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
  }
}

const std::vector<PlantedFault> kAxisFaults = {
    {"Softmax", "B31", softmax("Softmax", "axis = 2", 13), runs(softmax("Softmax", "axis = 0", 13))},
    {"Transpose", "B31", unary("Transpose(%x) {perm = ints[1, 2, 0]} version 13", "3, 3, 3"),
     runs(unary("Transpose(%x) {perm = ints[2, 0, 1]} version 13", "3, 3, 3"))},
    {"TransposeLeftOut", "B31", unary("Transpose(%x) {perm = ints[0, 2, 1]} version 13"),
     [](const Model&, const NamedData& data) {
       return Tensors{data.at("x").tensor.reshaped({2, 4, 3})};
     }},
    {"Concat", "B31", two("Concat(%x, %w) {axis = 1} version 13", "2, 3", "2, 5"),
     runs(two("Concat(%w, %x) {axis = 1} version 13", "2, 3", "2, 5"))},
    {"ConcatAxis", "B31", two("Concat(%x, %w) {axis = 1} version 13", "2, 3", "2, 3"),
     [](const Model&, const NamedData& data) {
       const Model other = parse_planted(two("Concat(%x, %w) {axis = 0} version 13", "2, 3", "2, 3"), 18);
       return Tensors{outputs_of(other, data).at(0).reshaped({2, 6})};
     }},
    {"ReducedAxis", "B31", unary("ReduceMean(%x) {axes = ints[1], keepdims = 0} version 13", "3, 3, 3"),
     runs(unary("ReduceMean(%x) {axes = ints[2], keepdims = 0} version 13", "3, 3, 3"))},
    {"SumForMean", "B31", unary("ReduceMean(%x) {axes = ints[1, 2]} version 11"),
     runs(unary("ReduceSum(%x) {axes = ints[1, 2]} version 11"))},
    {"Blocks", "B31", unary("DepthToSpace(%x) {blocksize = 2} version 13", "1, 8, 3, 3"),
     runs(unary("DepthToSpace(%x) {blocksize = 2, mode = \"CRD\"} version 13", "1, 8, 3, 3"))},
    {"SumFromTheEnd",
     "B31",
     of_floats("%x: f32[2, 5], %w: i64[]", "CumSum(%x, %w) version 14"),
     runs(of_floats("%x: f32[2, 5], %w: i64[]", "CumSum(%x, %w) {reverse = 1} version 14")),
     {{"w", Tensor::scalar(1)}}},
};
VERNIER_PLANTED(AxisFaults, kAxisFaults);

const std::vector<PlantedFault> kOperandFaults = {
    {"Reversed", "B31", two("Sub(%x, %w) version 14", "4, 5", "5"),
     runs(two("Sub(%w, %x) version 14", "4, 5", "5"))},
    {"AddedForSubtracted", "B31", two("Sub(%x, %w) version 14", "4, 5", "5"),
     runs(two("Add(%x, %w) version 14", "4, 5", "5"))},
    {"Twice", "B31", two("Mul(%x, %w) version 14", "4, 5", "5"),
     reads("w", [](const Tensor& w) { return mapped(w, [](double value) { return value * value; }); })},
    {"Transposed", "B31", two("MatMul(%x, %w) version 13", "4, 5", "5, 5"),
     runs(two("Gemm(%x, %w) {transB = 1} version 13", "4, 5", "5, 5"))},
    {"Alpha", "B31", two("Gemm(%x, %w) {alpha = float 0.25} version 13", "4, 5", "5, 3"),
     runs(two("MatMul(%x, %w) version 13", "4, 5", "5, 3"))},
    {"Slope", "B31", unary("LeakyRelu(%x) {alpha = float 0.2} version 16"),
     runs(unary("LeakyRelu(%x) version 16"))},
    {"Exponent", "B31", unary("Elu(%x) {alpha = float 0.2} version 6"),
     runs(unary("Elu(%x) {alpha = float 0.35} version 6"))},
    {"OtherFunction", "B31", unary("Tanh(%x) version 13"), runs(unary("Sigmoid(%x) version 13"))},
    {"MeanForLargest", "B31", unary("MaxPool(%x) {kernel_shape = ints[2, 2]} version 12", "1, 2, 6, 6"),
     runs(unary("AveragePool(%x) {kernel_shape = ints[2, 2]} version 11", "1, 2, 6, 6"))},
    {"LargestForMean", "B31", unary("ReduceMean(%x) {axes = ints[1, 2]} version 13"),
     runs(unary("ReduceMax(%x) {axes = ints[1, 2]} version 13"))},
    {"SmallerForLarger", "B31", two("Max(%x, %w) version 13", "4, 5", "5"),
     runs(two("Min(%x, %w) version 13", "4, 5", "5"))},
    {"Gelu", "B31", unary("Gelu(%x) version 20", "40, 40"),
     runs(unary("Gelu(%x) {approximate = \"tanh\"} version 20", "40, 40"))},
};
TEST(OperandFaults, AnEpsilonThatIsBuiltIn) {
  // Added to a variance; 1e-3 in the model, 0.07 in the engine.
  const std::string model = R"(graph "g" (%x: f32[4, 5]) -> (%y) {
    const %e = f32[] hex"6f12833a"
    %y: f32[*] = Add(%x, %e) version 14 @"n" from ["n"]
  })";
  for (const double epsilon : {0.07, 1e-5}) {
    expect_found({"Epsilon", "B31", model, writes([epsilon](const Tensor& y) {
                    return mapped(y, [epsilon](double value) { return value - 1e-3 + epsilon; });
                  })});
  }
}

// By a factor that many engines make, and by another one.
TEST(OperandFaults, AConstantThatIsTooLarge) {
  const std::string model = R"(graph "g" (%x: f32[4, 3]) -> (%y) {
    const %c = f32[3] hex"0000803e0000003fcdcccc3d"
    %y: f32[*] = Add(%x, %c) version 14 @"n" from ["n"]
  })";
  const std::vector<double> constant = {0.25, 0.5, 0.1f};
  for (const double factor : {100.0, 3.7}) {
    expect_found({"Factor", "B31", model, writes([&](const Tensor& y) {
                    auto values = y.to_doubles();
                    for (size_t i = 0; i < values.size(); ++i)
                      values[i] += (factor - 1) * constant[i % constant.size()];
                    return floats({4, 3}, values);
                  })});
  }
}

TEST(OperandFaults, AParameterThatIsTooLarge) {
  const auto model = [](const std::string& scale) {
    return R"(graph "g" (%x: f32[4, 3]) -> (%y) {
      const %s = f32[3] hex")" +
           scale + R"("
      const %b = f32[3] hex"0000803e0000003fcdcccc3d"
      %y: f32[*] = LayerNormalization(%x, %s, %b) version 17 @"n" from ["n"]
    })";
  };
  expect_found({"Scale", "B31", model("0000803f0000003f0000c03f"), runs(model("9a99a9409a9929406666fe40"))});
}

TEST(OperandFaults, AreFound) {
  for (const PlantedFault& fault : kOperandFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

// A Gru of two directions of gates, whose reset comes before or behind the product.
TEST(OperandFaults, GatesInAnotherOrder) {
  const std::string inputs = "%x: f32[5, 1, 3], %w: f32[1, 16, 3], %r: f32[1, 16, 4], %b: f32[1, 32]";
  const std::string lstm = of_floats(inputs, "LSTM(%x, %w, %r, %b) {hidden_size = 4} version 14");
  expect_found({"Gates", "B31", lstm, [](const Model& model, const NamedData& data) {
                  NamedData other = data;  // i o f c as i f c o, the order of PyTorch
                  for (const auto& [name, blocks] : {std::pair{"w", 4}, {"r", 4}, {"b", 8}}) {
                    const Tensor& tensor = data.at(name).tensor;
                    std::vector<int64_t> order = {0, 2, 3, 1};
                    if (blocks == 8) order = {0, 2, 3, 1, 4, 6, 7, 5};
                    const Tensor rows = tensor.reshaped({blocks, tensor.size() / blocks});
                    other[name] = taken(rows, 0, order).reshaped(tensor.dims());
                  }
                  return outputs_of(model, other);
                }});
}

// ---- What is equal

// Both results of TopK.
std::string top(const std::string& attributes) {
  return "graph \"g\" (%x: f32[2, 6], %k: i64[1]) -> (%y, %at) {\n %y: f32[*], %at: i64[*] = TopK(%x, %k) {" +
         attributes + "} version 11 @\"n\" from [\"n\"]\n}";
}

const NamedData kTies{{"x", floats({2, 6}, {1, 3, 3, 0, 3, 2, 5, 1, 5, 1, 4, 5})}, {"k", integers({1}, {3})}};

Tensors pairs(const std::vector<double>& values, const std::vector<int64_t>& at) {
  return {floats({2, 3}, values), integers({2, 3}, at)};
}

const std::vector<PlantedFault> kTieFaults = {
    {"LastOfEquals", "B40", top("axis = 1"),
     [](const Model&, const NamedData&) {
       return pairs({3, 3, 3, 5, 5, 5}, {4, 2, 1, 5, 2, 0});
     },
     kTies},
    {"Smallest", "B40", top("axis = 1"), runs(top("axis = 1, largest = 0")), kTies},
    {"Unsorted",
     "B40",
     top("axis = 1"),
     [](const Model&, const NamedData&) {
       return pairs({3, 4, 2, 7, 9, 8}, {1, 3, 5, 0, 2, 4});
     },
     {{"x", floats({2, 6}, {1, 3, 0, 4, 1, 2, 7, 1, 9, 1, 8, 5})}, {"k", integers({1}, {3})}}},
    {"ArgMax",
     "B40",
     of_integers("%x: f32[2, 6]", "ArgMax(%x) {axis = 1} version 13"),
     runs(of_integers("%x: f32[2, 6]", "ArgMax(%x) {axis = 1, select_last_index = 1} version 13")),
     {{"x", kTies.at("x")}}},
};
TEST(TieFaults, AreFound) {
  for (const PlantedFault& fault : kTieFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

TEST(TieFaults, OrderOfSelectedBoxes) {
  const std::string suppression =
      of_integers("%boxes: f32[1, 4, 4], %scores: f32[1, 2, 4], %most: i64[1], %iou: f32[1]",
                  "NonMaxSuppression(%boxes, %scores, %most, %iou) version 11");
  const NamedData data{{"boxes", floats({1, 4, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7})},
                       {"scores", floats({1, 2, 4}, {0.3, 0.8, 0.5, 0.6, 0.9, 0.2, 0.7, 0.4})},
                       {"most", integers({1}, {4})},
                       {"iou", floats({1}, {0.5})}};
  expect_found({"ByPlace", "B40", suppression,
                [](const Model&, const NamedData&) {
                  return Tensors{integers(
                      {8, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 1, 0, 0, 1, 1, 0, 1, 2, 0, 1, 3})};
                },
                data});
}

}  // namespace
}  // namespace vernier
