// Quantized operators of com.microsoft against the reference, byte by byte.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

constexpr auto kU8 = ElementType::kUint8, kS8 = ElementType::kInt8;

Tensor bytes(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed);
}
Tensor scale(double value) {
  return ops::floats({}, {value});
}
Tensor zero(ElementType type, double value) {
  return Tensor::from_doubles(type, {}, std::vector<double>{value});
}
ops::OneNode microsoft(const std::string& op, AttributeMap attributes = {}) {
  return {op, 1, std::move(attributes), "com.microsoft"};
}

// Takes x, its parameters, and those of the result.
OneKernel unary(ops::OneNode node, const Tensor& x, double y_scale, Layout layout = Layout::kPlain) {
  const ElementType type = x.type();
  return {std::move(node),
          {x, scale(0.0519), zero(type, 100), scale(y_scale), zero(type, 7)},
          {1, 2, 3, 4},
          layout};
}

TEST(QuantizedOperators, ConcatOfPartsWithOtherParameters) {
  for (const ElementType type : {kU8, kS8}) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      for (const int64_t axis : {0, 1, 2, -1}) {
        const auto dims = [&](int64_t size) {
          Dims all{2, 3, 5, 70};
          all[static_cast<size_t>(axis < 0 ? axis + 4 : axis)] = size;
          return all;
        };
        OneKernel{microsoft("QLinearConcat", {{"axis", Attribute(axis)}}),
                  {scale(0.04), zero(type, 9), bytes(type, dims(2), 1), scale(0.05), zero(type, 3),
                   bytes(type, dims(1), 2), scale(0.04), zero(type, 9), bytes(type, dims(4), 3), scale(0.013),
                   zero(type, 90)},
                  {0, 1, 3, 4, 6, 7, 9, 10},
                  layout}
            .expect("cpu:quantized_concat");
      }
    }
  }
  OneKernel{microsoft("QLinearConcat", {{"axis", Attribute(int64_t{0})}}),
            {scale(0.04), zero(kU8, 9), bytes(kU8, {0}, 1), scale(0.05), zero(kU8, 3), bytes(kU8, {5}, 1),
             scale(0.05), zero(kU8, 3)},
            {0, 1, 3, 4, 6, 7}}
      .expect("cpu:quantized_concat");
}

TEST(QuantizedOperators, SoftmaxAlongEveryAxis) {
  for (const ElementType type : {kU8, kS8}) {
    for (const int64_t opset : {12, 13}) {
      for (const int64_t axis : {0, 1, 2}) {
        for (const Dims& dims : {Dims{3, 4, 70}, Dims{2, 1, 1}, Dims{2, 0, 3}})
          unary(microsoft("QLinearSoftmax", {{"axis", Attribute(axis)}, {"opset", Attribute(opset)}}),
                bytes(type, dims, 1), 0.0041)
              .expect("cpu:quantized_softmax");
      }
    }
  }
}

TEST(QuantizedOperators, MeansOfWindows) {
  struct Case {
    Dims x;
    std::vector<int64_t> kernel, strides, pads;
    int64_t ceil_mode;
  };
  const std::vector<Case> cases = {{{2, 5, 9, 11}, {3, 3}, {1, 1}, {1, 1, 1, 1}, 0},
                                   {{1, 70, 8, 7}, {2, 3}, {2, 2}, {0, 0, 1, 2}, 1},
                                   {{1, 3, 20}, {5}, {3}, {2, 2}, 0},
                                   {{1, 4, 5, 4, 6}, {2, 2, 2}, {1, 2, 1}, {0, 1, 0, 1, 0, 1}, 0}};
  for (const Case& each : cases) {
    for (const ElementType type : {kU8, kS8}) {
      for (const int64_t padded : {0, 1}) {
        for (const int64_t last : {0, 1}) {
          const AttributeMap attributes{
              {"kernel_shape", Attribute(each.kernel)}, {"strides", Attribute(each.strides)},
              {"pads", Attribute(each.pads)},           {"ceil_mode", Attribute(each.ceil_mode)},
              {"count_include_pad", Attribute(padded)}, {"channels_last", Attribute(last)}};
          Dims dims = each.x;
          if (last == 1) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
          unary(microsoft("QLinearAveragePool", attributes), bytes(type, dims, 1), 0.0519)
              .expect("cpu:quantized_average");
        }
      }
    }
  }
}

TEST(QuantizedOperators, MeansOfChannels) {
  for (const ElementType type : {kU8, kS8}) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      unary(microsoft("QLinearGlobalAveragePool"), bytes(type, {2, 70, 7, 7}, 1), 0.0517, layout)
          .expect("cpu:quantized_mean");
      unary(microsoft("QLinearReduceMean", {{"axes", Attribute(std::vector<int64_t>{-1, 2})}}),
            bytes(type, {2, 5, 4, 6}, 1), 0.0519, layout)
          .expect("cpu:quantized_mean");
    }
    unary(microsoft("QLinearGlobalAveragePool", {{"channels_last", Attribute(int64_t{1})}}),
          bytes(type, {2, 6, 7, 70}, 1), 0.0519)
        .expect("cpu:quantized_mean");
    unary(microsoft("QLinearReduceMean",
                    {{"axes", Attribute(std::vector<int64_t>{1, 2})}, {"keepdims", Attribute(int64_t{0})}}),
          bytes(type, {2, 5, 4, 6}, 1), 0.0519)
        .expect("cpu:quantized_mean");
  }
  OneKernel across = unary(microsoft("QLinearReduceMean", {{"axes", Attribute(std::vector<int64_t>{0})}}),
                           bytes(kU8, {2, 3, 4, 5}, 1), 1);
  EXPECT_FALSE(across.run());
}

TEST(QuantizedOperators, WhereChooses) {
  const auto condition = random_tensor(ElementType::kBool, {2, 3, 70}, 1, false);
  for (const ElementType type : {kU8, kS8})
    OneKernel{microsoft("QLinearWhere"),
              {condition, bytes(type, {3, 70}, 2), scale(0.0519), zero(type, 3), bytes(type, {2, 3, 1}, 3),
               scale(0.031), zero(type, 100), scale(0.043), zero(type, 9)},
              {2, 3, 5, 6, 7, 8}}
        .expect("cpu:pointwise");
}

}  // namespace
}  // namespace vernier::cpu
