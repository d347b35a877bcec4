// Pointwise kernels against the reference: operators by type, broadcasting, layouts, tails, groups.
#include "cpu/one_kernel.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"
#include "vernier/ir/text.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:pointwise";
constexpr ElementType kIntegers[] = {ElementType::kInt8,   ElementType::kUint8, ElementType::kInt16,
                                     ElementType::kUint16, ElementType::kInt32, ElementType::kUint32,
                                     ElementType::kInt64,  ElementType::kUint64};
constexpr ElementType kFloats[] = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                                   ElementType::kBFloat16};

// Small integers without zero, which any operator takes.
Tensor divisors(ElementType type, const Dims& dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 5 + 1);
  return Tensor::from_doubles(type, dims, values);
}

TEST(Pointwise, IntegersWrapAsTheReferenceDoes) {
  for (const ElementType type : kIntegers) {
    const Tensor a = random_tensor(type, {3, 71}, 1), b = random_tensor(type, {3, 71}, 2);
    for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      OneKernel{{op, 18}, {a, b}}.expect(kName);
    for (const char* op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"})
      OneKernel{{op, 19}, {a, b}}.expect(kName);
    for (const char* op : {"Neg", "Abs", "Sign", "Relu", "BitwiseNot"})
      OneKernel{{op, 18}, {a}}.expect(kName);
    for (const char* op : {"Div", "Pow", "Mod"})
      OneKernel{{op, 15}, {a, divisors(type, {3, 71})}}.expect(kName);
    OneKernel{{"Mod", 13, {{"fmod", Attribute(int64_t{1})}}}, {a, divisors(type, {71})}}.expect(kName);
    for (const char* direction : {"LEFT", "RIGHT"})
      OneKernel{{"BitShift", 28, {{"direction", Attribute(std::string(direction))}}},
                {a, divisors(type, {3, 1})}}
          .expect(kName);
  }
}

TEST(Pointwise, DivisionByZeroIsAnError) {
  const Tensor a = random_tensor(ElementType::kInt32, {70}, 1),
               zero = Tensor::from_ints(ElementType::kInt32, {1}, std::vector<int64_t>{0});
  OneKernel kernel{{"Div", 14}, {a, zero}};
  EXPECT_THROW(kernel.run(), Error);
}

TEST(Pointwise, FloatsRoundOnce) {
  for (const ElementType type : kFloats) {
    const Tensor a = random_tensor(type, {5, 67}, 1), b = random_tensor(type, {5, 67}, 2);
    // Operators of one rounding: the same bits, up to the payload of a NaN.
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
      OneKernel kernel{{op, 14}, {a, b}};
      kernel.tolerance = 1e-300;
      kernel.expect(kName);
    }
    for (const char* op : {"Neg", "Abs", "Sign", "Sqrt", "Reciprocal", "Floor", "Ceil", "Relu", "LeakyRelu",
                           "ThresholdedRelu", "Shrink"}) {
      OneKernel kernel{{op, 16}, {a}};
      kernel.tolerance = 1e-300;
      kernel.expect(kName);
    }
    for (const char* op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"})
      OneKernel{{op, 19}, {a, b}}.expect(kName);
    for (const char* op : {"IsNaN", "IsInf"}) OneKernel{{op, 20}, {a}}.expect(kName);
  }
}

TEST(Pointwise, CastsFollowTheRulesOfCast) {
  std::vector<ElementType> types(std::begin(kIntegers), std::end(kIntegers));
  types.insert(types.end(), std::begin(kFloats), std::end(kFloats));
  types.push_back(ElementType::kBool);
  for (const ElementType from : types) {
    for (const ElementType to : types) {
      const bool wide = from == ElementType::kInt64 || from == ElementType::kUint64;
      if (from == to || (wide && (to == ElementType::kFloat16 || to == ElementType::kBFloat16))) continue;
      OneKernel kernel{{"Cast", 19, {{"to", Attribute(static_cast<int64_t>(to))}}},
                       {random_tensor(from, {2, 83}, 3)}};
      if (is_float(from) && is_float(to)) kernel.tolerance = 1e-300;
      kernel.expect(kName);
    }
  }
}

TEST(Pointwise, OperandsBroadcast) {
  const Dims out{2, 3, 5, 70};
  for (const Dims& other : {Dims{}, Dims{1}, Dims{70}, Dims{5, 1}, Dims{3, 1, 1}, Dims{2, 1, 1, 1},
                            Dims{2, 3, 5, 70}, Dims{1, 3, 1, 70}, Dims{2, 1, 5, 1}, Dims{5, 70}}) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kInt64, ElementType::kFloat16}) {
      const Tensor a = random_tensor(type, out, 1, false), b = random_tensor(type, other, 2, false);
      OneKernel{{"Add", 14}, {a, b}}.expect(kName);
      OneKernel{{"Sub", 14}, {b, a}}.expect(kName);
      OneKernel{{"Add", 14}, {a, b}, {1}}.expect(kName);
    }
  }
  // Both sides, long rows, and rows that end within a block.
  OneKernel{{"Add", 14},
            {random_tensor(ElementType::kFloat, {4, 1, 7}, 1, false),
             random_tensor(ElementType::kFloat, {9, 1}, 2, false)}}
      .expect(kName);
  OneKernel{{"Add", 14},
            {random_tensor(ElementType::kFloat, {5, 3001}, 1, false),
             random_tensor(ElementType::kFloat, {3001}, 2, false)}}
      .expect(kName);
  OneKernel{
      {"Where", 16},
      {random_tensor(ElementType::kBool, {6, 1}, 1), random_tensor(ElementType::kFloat, {1, 90}, 2, false),
       random_tensor(ElementType::kFloat, {}, 3, false)}}
      .expect(kName);
}

TEST(Pointwise, SizesFromNoneToMany) {
  for (const int64_t size : {0, 1, 15, 63, 64, 65, 1023, 1024, 1025, 100000}) {
    OneKernel{{"Add", 14},
              {random_tensor(ElementType::kFloat, {size}, 1, false),
               random_tensor(ElementType::kFloat, {size}, 2, false)}}
        .expect(kName);
    OneKernel{{"Greater", 13},
              {random_tensor(ElementType::kFloat, {size}, 1, false),
               random_tensor(ElementType::kFloat, {1}, 2, false)}}
        .expect(kName);
  }
}

TEST(Pointwise, LayoutsOfImages) {
  for (const Layout layout : {Layout::kChannelsLast, Layout::kBlocked16}) {
    for (const int64_t channels : {16, 20}) {
      const Tensor x = random_tensor(ElementType::kFloat, {2, channels, 5, 7}, 1, false);
      const Tensor channel = random_tensor(ElementType::kFloat, {channels, 1, 1}, 2, false);
      const Tensor scale = random_tensor(ElementType::kFloat, {2, channels, 1, 1}, 3, false);
      const Tensor mask = random_tensor(ElementType::kFloat, {2, 1, 5, 7}, 4, false);
      const Tensor row = random_tensor(ElementType::kFloat, {7}, 5, false);
      OneKernel{{"Add", 14}, {x, channel}, {1}, layout}.expect(kName);
      for (const Tensor& other : {x, scale, mask, row})
        OneKernel{{"Mul", 14}, {x, other}, {}, layout}.expect(kName);
      OneKernel{{"Reciprocal", 13}, {x}, {}, layout, 1e-6}.expect(kName);
    }
  }
}

// A model run by the engine: its plan holds one group, and nothing falls back.
void expect_one_group(const std::string& text, double tolerance) {
  const Model model = parse_model(text);
  Session session(compile(model, {}));
  NamedData data;
  unsigned seed = 0;
  for (const Value* input : model.graph->inputs)
    data[input->name] =
        random_tensor(input->type.tensor.element, *to_dims(*input->type.tensor.shape), ++seed, false);
  std::vector<std::string> steps;
  Observer observer;
  observer.after = [&](const ObservedStep& seen, int64_t) {
    const Step& step = seen.step();
    steps.push_back(step.kernel ? step.kernel->name : step.reason);
  };
  auto outputs = session.run(data, &observer);
  EXPECT_EQ(steps, std::vector<std::string>{kName});
  const auto reference = run_reference(model, data).outputs;
  for (size_t i = 0; i < reference.size(); ++i) {
    const Tensor& y = outputs.at(model.graph->outputs[i]->name).as_tensor();
    if (tolerance == 0) {
      EXPECT_TRUE(y.identical(reference[i].as_tensor()));
      continue;
    }
    const auto is = y.to_doubles(), wanted = reference[i].as_tensor().to_doubles();
    for (size_t k = 0; k < is.size(); ++k)
      ASSERT_NEAR(is[k], wanted[k], tolerance * std::max(1.0, std::abs(wanted[k])));
  }
}

TEST(PointwiseGroup, TypesChangeInside) {
  expect_one_group(
      R"(model ir=8 opset "" 17 { graph "g" (%x: f32[3, 100], %b: f32[100], %k: i64[3, 100]) -> (%y, %m) {
    %s: f32[3, 100] = Add(%x, %b) version 14 @"s" from ["s"]
    %e: f32[3, 100] = Exp(%s) version 13 @"e" from ["e"]
    %m: bool[3, 100] = Greater(%e, %b) version 13 @"m" from ["m"]
    %c: f32[3, 100] = Cast(%k) {to = 1} version 13 @"c" from ["c"]
    %t: f32[3, 100] = Mul(%c, %s) version 14 @"t" from ["t"]
    %n: bool[3, 100] = Not(%m) version 1 @"n" from ["n"]
    %y: f32[3, 100] = Where(%n, %s, %t) version 16 @"y" from ["y"]
  } })",
      0);
}

TEST(PointwiseGroup, RoundsBetweenNodesOfF16) {
  for (const char* type : {"f16", "bf16"}) {
    std::string text = R"(model ir=8 opset "" 17 { graph "g" (%x: T[7, 30], %b: T[30]) -> (%y, %s) {
      %s: T[7, 30] = Add(%x, %b) version 14 @"s" from ["s"]
      %p: T[7, 30] = Mul(%s, %x) version 14 @"p" from ["p"]
      %y: T[7, 30] = Sub(%p, %s) version 14 @"y" from ["y"]
    } })";
    for (size_t at = text.find(" T["); at != std::string::npos; at = text.find(" T["))
      text.replace(at + 1, 1, type);
    expect_one_group(text, 0);
  }
}

}  // namespace
}  // namespace vernier::cpu
