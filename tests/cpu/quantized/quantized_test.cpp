// Kernels of quantized operators against the reference.
#include "cpu/one_kernel.h"
#include "vernier/backends/cpu/processor.h"

namespace vernier::cpu {
namespace {

constexpr ElementType kQuantized[] = {ElementType::kUint8, ElementType::kInt8, ElementType::kUint16,
                                      ElementType::kInt16};

Tensor floats(Dims dims, const std::vector<double>& values, ElementType type = ElementType::kFloat) {
  return Tensor::from_doubles(type, std::move(dims), values);
}

Tensor integers(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed);
}

TEST(Quantize, RoundsToEvenAndSaturates) {
  const std::vector<double> edges = {0.5,  1.5,      2.5,       -0.5, -1.5,  1e9,
                                     -1e9, HUGE_VAL, -HUGE_VAL, NAN,  127.5, 254.5};
  for (const ElementType type : kQuantized) {
    const Tensor zero = Tensor::from_doubles(type, {}, std::vector<double>{3});
    OneKernel{{"QuantizeLinear", 21}, {floats({12}, edges), floats({}, {1}), zero}}.expect("cpu:pointwise");
    for (const int64_t size : {0, 1, 63, 64, 1001})
      OneKernel{{"QuantizeLinear", 21},
                {random_tensor(ElementType::kFloat, {size}, 1, false), floats({}, {0.0173}), zero}}
          .expect("cpu:pointwise");
    OneKernel{{"QuantizeLinear", 21}, {random_tensor(ElementType::kFloat, {777}, 2), floats({}, {0.3}), zero}}
        .expect("cpu:pointwise");
  }
}

TEST(Quantize, PlanesOfPicturesBecomePixels) {
  for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
    for (const int64_t planes : {2, 3, 4}) {
      for (const Dims& size : {Dims{1, 1}, Dims{7, 9}, Dims{64, 16}, Dims{37, 61}}) {
        const Tensor zero = Tensor::from_doubles(type, {}, std::vector<double>{3});
        const Dims dims{2, planes, size[0], size[1]};
        OneKernel picture{{"QuantizeLinear", 21},
                          {random_tensor(ElementType::kFloat, dims, 1, false), floats({}, {0.0173}), zero},
                          {1, 2}};
        picture.inputs[0].mutable_values<float>()[1] = NAN;
        picture.expect("cpu:picture");
        picture.layout = Layout::kChannelsLast;  // then there is nothing to move
        picture.expect("cpu:pointwise");
      }
    }
  }
}

TEST(Cast, PlanesOfPicturesBecomePixels) {
  const Attribute to(static_cast<int64_t>(ElementType::kBFloat16));
  for (const Dims& dims : {Dims{2, 3, 1, 1}, Dims{1, 2, 7, 9}, Dims{2, 4, 37, 61}}) {
    OneKernel picture{{"Cast", 21, {{"to", to}}}, {random_tensor(ElementType::kFloat, dims, 1, false)}};
    picture.inputs[0].mutable_values<float>()[1] = NAN;
    picture.expect("cpu:picture");
    picture.layout = Layout::kChannelsLast;
    picture.expect("cpu:pointwise");
  }
}

TEST(Quantize, ScalesAlongAnAxisInEveryLayout) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    const Tensor scales = floats({3}, {0.01, 0.5, 0.07}), zeros = integers(ElementType::kInt8, {3}, 5);
    OneKernel quantize{{"QuantizeLinear", 21},
                       {random_tensor(ElementType::kFloat, {2, 3, 5, 7}, 1, false), scales, zeros},
                       {1, 2},
                       layout};
    quantize.expect("cpu:pointwise");
    OneKernel dequantize{{"DequantizeLinear", 21},
                         {integers(ElementType::kInt8, {2, 3, 5, 7}, 2), scales, zeros},
                         {1, 2},
                         layout};
    dequantize.expect("cpu:pointwise");
  }
}

TEST(Dequantize, EveryTypeRoundsOnce) {
  for (const ElementType type : kQuantized)
    OneKernel{{"DequantizeLinear", 21},
              {integers(type, {515}, 1), floats({}, {0.0173}), integers(type, {}, 2)}}
        .expect("cpu:pointwise");
  OneKernel{{"DequantizeLinear", 21}, {integers(ElementType::kInt32, {515}, 1), floats({}, {0.0173})}}.expect(
      "cpu:pointwise");
  for (const ElementType scale : {ElementType::kFloat16, ElementType::kBFloat16})
    OneKernel{{"DequantizeLinear", 21}, {integers(ElementType::kInt8, {515}, 1), floats({}, {0.0173}, scale)}}
        .expect("cpu:pointwise");
}

TEST(Quantize, KnownScalesDivideAsOthers) {
  // Ties, and what lies beside them.
  std::vector<double> values;
  for (const float scale : {0.1F, 0.0173F, 0.5F, 3e-39F, 1e38F}) {
    for (int i = -300; i < 300; ++i) {
      const float tie = (static_cast<float>(i) + 0.5F) * scale;
      for (const float value : {std::nextafterf(tie, -HUGE_VALF), tie, std::nextafterf(tie, HUGE_VALF)})
        values.push_back(value);
    }
    for (const ElementType type : kQuantized)
      OneKernel{{"QuantizeLinear", 21},
                {floats({static_cast<int64_t>(values.size())}, values), floats({}, {scale}),
                 Tensor::from_doubles(type, {}, std::vector<double>{5})},
                {1, 2}}
          .expect("cpu:pointwise");
  }
}

TEST(Dequantize, KnownScales) {
  for (const ElementType type : kQuantized)
    OneKernel{{"DequantizeLinear", 21},
              {integers(type, {515}, 1), floats({}, {0.0173}), integers(type, {}, 2)},
              {1, 2}}
        .expect("cpu:pointwise");
}

TEST(QLinear, ArithmeticInEveryLayout) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    for (const char* op : {"QLinearAdd", "QLinearMul"}) {
      for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
        for (const std::set<size_t>& known : {std::set<size_t>{}, std::set<size_t>{1, 2, 4, 5, 6, 7}})
          OneKernel{{op, 1, {}, "com.microsoft"},
                    {integers(type, {2, 3, 5, 7}, 1), floats({}, {0.021}), integers(type, {}, 3),
                     integers(type, {2, 3, 5, 7}, 2), floats({}, {0.5}), integers(type, {}, 4),
                     floats({}, {0.33}), integers(type, {}, 5)},
                    known,
                    layout}
              .expect("cpu:pointwise");
      }
    }
  }
}

struct Scales {
  double a, b, y;
};

// Every pair of codes, so that all that lie beside a tie are among them. The second scales make many ties,
// the last such large results that floats would leave them in doubt.
TEST(Int8Table, OfTwoOperands) {
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
      std::vector<double> a, b;
      const double least = type == ElementType::kInt8 ? -128 : 0;
      for (int i = 0; i < 65536; ++i) {
        a.push_back(least + i / 256);
        b.push_back(least + i % 256);
      }
      const Dims dims{1, 64, 32, 32};
      for (const Scales& scales :
           {Scales{0.021, 0.5, 0.33}, Scales{0.03, 0.05, 0.1}, Scales{1.0 / 3, 1.0 / 7, 1.0 / 7},
            Scales{0.25, 0.125, 0.5}, Scales{0.021, 0.5, 1e-6}}) {
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
          const bool in_doubt = scales.y < 1e-5;
          OneKernel{{op, 1, {}, "com.microsoft"},
                    {Tensor::from_doubles(type, dims, a), floats({}, {scales.a}), integers(type, {}, 3),
                     Tensor::from_doubles(type, dims, b), floats({}, {scales.b}), integers(type, {}, 4),
                     floats({}, {scales.y}), integers(type, {}, 5)},
                    {1, 2, 4, 5, 6, 7},
                    layout}
              .expect(in_doubt && has(Feature::kAvx512) ? "cpu:pointwise" : "cpu:int8_table:pairs");
        }
      }
    }
  }
}

TEST(Int8Table, OfTwoOperandsOfAnySize) {
  for (const Dims& dims : {Dims{1, 1, 1, 7}, Dims{2, 33, 9, 7}, Dims{1, 64, 40, 33}}) {
    OneKernel{{"QLinearAdd", 1, {}, "com.microsoft"},
              {integers(ElementType::kUint8, dims, 1), floats({}, {0.021}),
               integers(ElementType::kUint8, {}, 3), integers(ElementType::kInt8, dims, 2), floats({}, {0.5}),
               integers(ElementType::kInt8, {}, 4), floats({}, {0.33}), integers(ElementType::kUint8, {}, 5)},
              {1, 2, 4, 5, 6, 7}}
        .expect(element_count(dims) < 4096 ? "cpu:pointwise" : "cpu:int8_table:pairs");
  }
}

TEST(Int8Table, HoldsEveryCode) {
  for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
    for (const int64_t size : {0, 1, 63, 64, 65, 1000, 300000}) {
      OneKernel{{"QLinearSigmoid", 1, {}, "com.microsoft"},
                {integers(type, {size}, 1), floats({}, {0.03}), integers(type, {}, 2), floats({}, {0.004}),
                 integers(type, {}, 3)},
                {1, 2, 3, 4}}
          .expect("cpu:int8_table");
    }
    OneKernel{{"QLinearLeakyRelu", 1, {{"alpha", Attribute(0.1F)}}, "com.microsoft"},
              {integers(type, {2, 3, 5, 7}, 1), floats({}, {0.03}), Tensor(), floats({}, {0.04})},
              {1, 3},
              Layout::kChannelsLast}
        .expect("cpu:int8_table");
  }
}

}  // namespace
}  // namespace vernier::cpu
