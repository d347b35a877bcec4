// Softmax, normalisations, reductions and choices along axes against the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using ops::OneNode;
constexpr ElementType kF32 = ElementType::kFloat;
const double kInf = std::numeric_limits<double>::infinity(), kNan = std::nan("");

double tolerance_of(ElementType type) {
  if (type == ElementType::kFloat16) return 2e-3;
  return type == ElementType::kBFloat16 ? 1.6e-2 : 4e-6;
}
const auto kFloatTypes = {kF32, ElementType::kFloat16, ElementType::kBFloat16};

void expect(const OneNode& node, std::vector<Tensor> inputs, const char* kernel, double tolerance,
            std::set<size_t> constants = {}, Layout layout = Layout::kPlain) {
  OneKernel one{node, std::move(inputs), std::move(constants), layout, tolerance};
  one.expect(kernel);
}

Tensor values(ElementType type, Dims dims, unsigned seed = 1) {
  return random_tensor(type, std::move(dims), seed, false);
}

TEST(SoftmaxKernel, EveryTypeAxisAndLength) {
  for (const ElementType type : kFloatTypes) {
    for (const Dims& dims : {Dims{3, 1}, Dims{5, 17}, Dims{2, 200, 3}, Dims{2, 7, 130}, Dims{1, 5000},
                             Dims{130, 2}, Dims{65, 16}}) {
      for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
        const AttributeMap along = {{"axis", Attribute(axis)}};
        expect({"Softmax", 13, along}, {values(type, dims)}, "cpu:softmax", tolerance_of(type));
        expect({"LogSoftmax", 13, along}, {values(type, dims)}, "cpu:log_softmax", tolerance_of(type));
        expect({"Softmax", 11, along}, {values(type, dims)}, "cpu:softmax", tolerance_of(type));
      }
    }
  }
}

TEST(SoftmaxKernel, EmptyAndExtreme) {
  expect({"Softmax", 13}, {Tensor(kF32, {0, 3})}, "cpu:softmax", 1e-6);
  expect({"Softmax", 13}, {Tensor(kF32, {3, 0})}, "cpu:softmax", 1e-6);
  expect({"Softmax", 13}, {ops::floats({}, {4})}, "cpu:softmax", 1e-6);
  const auto odd =
      ops::floats({5, 3}, {1000, 999, -kInf, kNan, 1, 2, kInf, 1, 2, -kInf, -kInf, -kInf, -1e30, 0, 88});
  expect({"Softmax", 13}, {odd}, "cpu:softmax", 1e-6);
  expect({"Softmax", 13, {{"axis", Attribute(int64_t{0})}}}, {odd}, "cpu:softmax", 1e-6);
  expect({"LogSoftmax", 13}, {odd}, "cpu:log_softmax", 1e-6);
}

TEST(LayerNormKernel, RowsOfEveryTypeAndLength) {
  for (const ElementType type : kFloatTypes) {
    for (const int64_t length : {1, 7, 64, 1000, 5000, 768}) {
      const auto x = values(type, {2, 3, length}, 2), scale = values(type, {length}, 3),
                 bias = values(type, {length}, 4);
      const double tolerance = 3 * tolerance_of(type);
      OneNode layer{"LayerNormalization", 17};
      expect(layer, {x, scale, bias}, "cpu:layer_norm", tolerance);
      expect(layer, {x, scale}, "cpu:layer_norm", tolerance);
      layer.outputs = 3;
      expect(layer, {x, scale, bias}, "cpu:layer_norm", tolerance);
      expect({"RMSNormalization", 23}, {x, scale}, "cpu:rms_norm", tolerance);
      OneNode skip{"SkipLayerNormalization", 1, {}, "com.microsoft", 4};
      expect(skip, {x, values(type, {2, 3, length}, 5), scale, bias, values(type, {length}, 6)},
             "cpu:layer_norm", 2 * tolerance);
      OneNode simple{"SkipSimplifiedLayerNormalization", 1, {}, "com.microsoft"};
      expect(simple, {x, values(type, {3, length}, 5), scale}, "cpu:rms_norm", 2 * tolerance);
    }
  }
}

TEST(LayerNormKernel, SeveralAxesAndALargeMean) {
  auto far = values(kF32, {4, 5, 6}).to_doubles();
  for (double& value : far) value += 1000;
  expect({"LayerNormalization", 17, {{"axis", Attribute(int64_t{1})}}},
         {ops::floats({4, 5, 6}, far), values(kF32, {5, 6}), values(kF32, {5, 6}, 9)}, "cpu:layer_norm",
         2e-4);
}

// Whole vectors up to the longest row, and one beyond it; a row with NaN and one with infinity are none.
TEST(LayerNormKernel, RowsOfBFloat16InVectors) {
  constexpr auto kType = ElementType::kBFloat16;
  for (const int64_t length : {32, 64, 96, 4096, 4128}) {
    auto far = values(kType, {5, length}, 2).to_doubles();
    const auto row = static_cast<size_t>(length);
    for (size_t i = 0; i < row; ++i) far[i] += 100;
    far[row] = std::numeric_limits<double>::quiet_NaN();
    far[3 * row - 1] = std::numeric_limits<double>::infinity();
    const Tensor x = Tensor::from_doubles(kType, {5, length}, far), scale = values(kType, {length}, 3),
                 bias = values(kType, {length}, 4);
    const double tolerance = 3 * tolerance_of(kType);
    expect({"LayerNormalization", 17}, {x, scale, bias}, "cpu:layer_norm", tolerance);
    expect({"LayerNormalization", 17}, {x, scale}, "cpu:layer_norm", tolerance);
    expect({"RMSNormalization", 23}, {x, scale}, "cpu:rms_norm", tolerance);
  }
}

TEST(ChannelNormKernel, EveryTypeAndLayout) {
  for (const ElementType type : kFloatTypes) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      for (const Dims& dims : {Dims{2, 6, 5, 7}, Dims{1, 72, 90}, Dims{3, 6, 1}}) {
        const auto x = values(type, dims, 2);
        const Dims c = {dims[1]};
        const double tolerance = 4 * tolerance_of(type);
        auto variance = values(type, c, 7).to_doubles();
        for (double& value : variance) value = std::abs(value) + 0.1;
        expect(
            {"BatchNormalization", 15},
            {x, values(type, c, 3), values(type, c, 4), values(type, c, 5), ops::reals_of(type, c, variance)},
            "cpu:batch_norm", tolerance, {1, 2, 3, 4}, layout);
        expect({"GroupNormalization", 21, {{"num_groups", Attribute(int64_t{3})}}},
               {x, values(type, c, 3), values(type, c, 4)}, "cpu:group_norm", tolerance, {1, 2}, layout);
        if (element_count(dims) > dims[0] * dims[1])
          expect({"InstanceNormalization", 6}, {x, values(type, c, 3), values(type, c, 4)}, "cpu:group_norm",
                 tolerance, {1, 2}, layout);
      }
    }
  }
}

TEST(ReduceKernel, EveryOperatorTypeAndSetOfAxes) {
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"}) {
    for (const ElementType type : kFloatTypes) {
      for (const Dims& axes :
           {Dims{0}, Dims{1}, Dims{3}, Dims{2, 3}, Dims{0, 2}, Dims{1, 3}, Dims{0, 1, 2, 3}}) {
        for (const int64_t keep : {0, 1}) {
          const OneNode node{fmt::format("Reduce{}", op), 18, {{"keepdims", Attribute(keep)}}};
          const auto axes_tensor = ops::ints({static_cast<int64_t>(axes.size())}, axes);
          for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
            expect(node, {values(type, {2, 3, 5, 70}), axes_tensor}, "cpu:reduce", 4 * tolerance_of(type),
                   {1}, layout);
        }
      }
    }
  }
}

// Few results of many rows are folded in chunks.
TEST(ReduceKernel, Tall) {
  for (const char* op : {"Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"}) {
    for (const ElementType type : kFloatTypes) {
      for (const int64_t rows : {511, 512, 1000})
        expect({fmt::format("Reduce{}", op), 18}, {values(type, {2, rows, 70}), ops::ints({1}, {1})},
               "cpu:reduce", 4 * tolerance_of(type), {1});
    }
  }
}

TEST(ReduceKernel, LongEmptyAndExtreme) {
  const OneNode all{"ReduceSum", 13, {{"keepdims", Attribute(int64_t{0})}}};
  expect(all, {values(kF32, {300000})}, "cpu:reduce", 1e-6);
  expect({"ReduceMean", 13, {{"axes", Attribute(Dims{0})}}}, {values(kF32, {9000, 5})}, "cpu:reduce", 1e-6);
  for (const char* op :
       {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceLogSumExp"}) {
    expect({op, 18}, {Tensor(kF32, {3, 0}), ops::ints({1}, {1})}, "cpu:reduce", 1e-6, {1});
    expect({op, 18}, {Tensor(kF32, {0, 3}), ops::ints({1}, {1})}, "cpu:reduce", 1e-6, {1});
    expect({op, 18, {{"noop_with_empty_axes", Attribute(int64_t{1})}}}, {values(kF32, {3, 70})}, "cpu:reduce",
           1e-6);
    expect({op, 18},
           {ops::floats({3, 3}, {1, kNan, 2, kInf, 1, 2, -kInf, -kInf, -kInf}), ops::ints({1}, {1})},
           "cpu:reduce", 1e-6, {1});
  }
}

TEST(ReduceKernel, IntegersAreExact) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt32,
                                 ElementType::kUint32, ElementType::kInt64, ElementType::kUint64}) {
    for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "L1", "SumSquare"}) {
      for (const Dims& axes : {Dims{0}, Dims{2}, Dims{0, 2}})
        expect({fmt::format("Reduce{}", op), 18},
               {random_tensor(type, {3, 4, 9}, 8), ops::ints({static_cast<int64_t>(axes.size())}, axes)},
               "cpu:reduce_wide", 0, {1});
    }
  }
  for (const char* op : {"ReduceMax", "ReduceMin"})
    expect({op, 20}, {values(ElementType::kBool, {4, 5}), ops::ints({1}, {1})}, "cpu:reduce_wide", 0, {1});
}

TEST(ArgExtremumKernel, TiesNansAndTypes) {
  const auto odd =
      ops::floats({4, 4}, {1, 3, 3, 2, kNan, 1, kNan, 5, -kInf, -kInf, -kInf, -kInf, 0, -0.0, 0, -1});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const int64_t last : {0, 1}) {
      for (const int64_t axis : {0, 1}) {
        const OneNode node{op, 13, {{"axis", Attribute(axis)}, {"select_last_index", Attribute(last)}}};
        expect(node, {odd}, "cpu:arg_extremum", 0);
        for (const ElementType type :
             {kF32, ElementType::kFloat16, ElementType::kDouble, ElementType::kInt8, ElementType::kUint64})
          expect(node, {values(type, {33, 70})}, "cpu:arg_extremum", 0);
      }
    }
  }
}

TEST(TopKKernel, OrderTiesAndTypes) {
  for (const int64_t largest : {0, 1}) {
    for (const int64_t axis : {0, 1}) {
      for (const int64_t k : {0, 1, 3, 29}) {
        const OneNode node{"TopK", 11, {{"axis", Attribute(axis)}, {"largest", Attribute(largest)}}, "", 2};
        for (const ElementType type : {kF32, ElementType::kFloat16, ElementType::kInt8, ElementType::kInt64})
          expect(node, {values(type, {30, 40}), ops::ints({1}, {k})}, "cpu:top_k", 0, {1});
      }
    }
  }
  expect({"TopK", 11, {}, "", 2}, {ops::floats({1, 5}, {1, kNan, 3, kNan, kInf}), ops::ints({1}, {4})},
         "cpu:top_k", 1e-9, {1});
}

}  // namespace
}  // namespace vernier::cpu
