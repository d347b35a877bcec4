// Quantized operators whose parameters are NaN or infinite, or scales that make numbers so: NaN becomes the
// lowest integer, infinities the ends of the type, as in the reference, by every kernel.
#include "cpu/nonfinite/nonfinite.h"
#include "cpu/quantized_model.h"

namespace vernier {
namespace {

using nonfinite::kInfinity, nonfinite::kNan;

constexpr int64_t kChannels = 32;

// One element of 32 that are numbers.
std::vector<double> numbers_but(double odd) {
  std::vector<double> values(kChannels, 3.5);
  values[9] = odd;
  return values;
}

struct Contraction {
  const char* name;
  Dims x, w;
  std::string op;
  std::vector<int64_t> pads;
  int64_t groups;
};

const std::vector<Contraction>& contractions() {
  static const std::vector<Contraction> all = {
      {"matmul", {9, 32}, {32, kChannels}, "MatMul", {}, 1},
      {"gemm", {9, 32}, {32, kChannels}, "Gemm", {}, 1},
      {"conv 1x1", {1, 16, 5, 7}, {kChannels, 16, 1, 1}, "Conv", {0, 0, 0, 0}, 1},
      {"conv 3x3", {1, 16, 5, 7}, {kChannels, 16, 3, 3}, "Conv", {1, 1, 1, 1}, 1},
      {"depthwise", {1, kChannels, 5, 7}, {kChannels, 1, 3, 3}, "Conv", {1, 1, 1, 1}, kChannels}};
  return all;
}

// Says what is odd about them.
struct Parameters {
  double bias = 1, added = 1, weight_scale = 0.125, scale = 8, most = kInfinity;
};

const std::vector<Parameters>& odd_parameters() {
  static const std::vector<Parameters> all = {
      {.bias = kNan},
      {.bias = kInfinity},
      {.bias = -kInfinity},
      {.bias = kInfinity, .added = -kInfinity},
      {.added = kNan},
      {.weight_scale = kNan},
      {.weight_scale = kInfinity},
      {.weight_scale = 0},
      {.bias = 0, .weight_scale = 0},
      {.scale = 0},
      {.scale = -8},
      {.scale = kNan},
      {.scale = kInfinity},
      {.weight_scale = 0x1p100, .scale = 0x1p-100},
      {.most = kNan},
      {.most = -kInfinity},
  };
  return all;
}

void expect_as_reference(const Contraction& c, const Parameters& odd, ElementType type, bool residual,
                         const std::string& tactic) {
  Maker make;
  const bool conv = c.op == "Conv";
  Value* x = make.dequantize(make.input(type, c.x, 1), 0.0625, 3, type);
  std::vector<double> scales(kChannels, 0.125);
  scales[5] = odd.weight_scale;
  Value* w = make.node("DequantizeLinear",
                       {make.constant(bytes(ElementType::kInt8, c.w, 2)), make.reals({kChannels}, scales)},
                       {{"axis", Attribute(int64_t{conv ? 0 : 1})}});
  std::vector<Value*> operands = {x, w};
  Value* bias = make.reals({kChannels}, numbers_but(odd.bias));
  if (c.op != "MatMul") operands.push_back(bias);
  Value* y = make.node(c.op, operands, conv ? window(c.pads, c.groups) : AttributeMap{});
  if (c.op == "MatMul") y = make.node("Add", {y, bias});
  if (residual) {
    Dims dims = c.x;
    dims[1] = kChannels;
    y = make.node("Add",
                  {y, make.dequantize(make.input(type, dims, 3), 0.5, -9 + 128 * (type == kU8), type)});
  }
  const Dims along = conv ? Dims{kChannels, 1, 1} : Dims{kChannels};
  y = make.node("Add", {y, make.reals(along, numbers_but(odd.added))});
  if (!(odd.most == kInfinity))
    y = make.node("Clip", {y, make.reals({}, {-300}), make.reals({}, {odd.most})});
  Value* result = make.quantize(y, odd.scale, type == kU8 ? 100 : -6, type);
  const Tensor actual = make.outputs(result, tactic);
  EXPECT_TRUE(actual.identical(run_reference(make.model, make.data).outputs[0].tensor));
}

TEST(NonfiniteQuantized, ParametersOfContractions) {
  for (const Contraction& each : contractions()) {
    for (size_t odd = 0; odd < odd_parameters().size(); ++odd) {
      for (const ElementType type : {kU8, kS8}) {
        for (const bool residual : {false, true}) {
          for (const char* tactic : {"", "int8-tiles", "int8-vectors", "int8-pairs", "depthwise"}) {
            SCOPED_TRACE(fmt::format("{}, parameters {}, {}, residual {}, tactic '{}'", each.name, odd,
                                     element_type_short_name(type), residual, tactic));
            expect_as_reference(each, odd_parameters()[odd], type, residual, tactic);
          }
        }
      }
    }
  }
}

// Scales that are numbers are computed by integers all the same.
TEST(NonfiniteQuantized, LargeScalesAreNone) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {9, 32}, 1), 0x1p60, 3, kU8);
  Value* y = make.node("MatMul", {x, make.weights({32, 16}, 1, 2)});
  EXPECT_EQ(make.run(make.quantize(y, 0x1p68, 11, kU8), "qmatmul").size(), 1U);
}

TEST(NonfiniteQuantized, ScalesOfOtherOperators) {
  for (const double scale : {0.0, kNan, kInfinity, -0.5}) {
    for (const bool of_input : {false, true}) {
      for (const char* op :
           {"QLinearGlobalAveragePool", "QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu"}) {
        SCOPED_TRACE(fmt::format("{} {} of {}", op, scale, of_input ? "input" : "output"));
        Maker make;
        Value* x = make.input(kU8, {1, 8, 4, 4}, 1);
        const auto one = [&](double value) { return make.reals({}, {value}); };
        const auto zero = [&] { return make.reals({}, {7}, kU8); };
        const double in = of_input ? scale : 0.25, out = of_input ? 0.25 : scale;
        std::vector<Value*> inputs = {x, one(in), zero(), one(out), zero()};
        AttributeMap attributes;
        if (op == std::string("QLinearConcat")) {
          inputs = {one(out), zero(), x, one(in), zero(), make.input(kU8, {1, 8, 4, 4}, 2), one(0.5), zero()};
          attributes.emplace("axis", Attribute(int64_t{1}));
        }
        if (op == std::string("QLinearAveragePool"))
          attributes.emplace("kernel_shape", Attribute(std::vector<int64_t>{2, 2}));
        if (op == std::string("QLinearLeakyRelu")) attributes.emplace("alpha", Attribute(0.1F));
        Value* y = make.node(op, inputs, attributes, "com.microsoft");
        const Tensor actual = make.outputs(y, "");
        EXPECT_TRUE(actual.identical(run_reference(make.model, make.data).outputs[0].tensor));
      }
    }
  }
}

}  // namespace
}  // namespace vernier
