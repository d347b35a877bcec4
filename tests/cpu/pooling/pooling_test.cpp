// Pools against the reference: windows that end beyond the image.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using Ints = std::vector<int64_t>;

OneKernel pool(const char* op, AttributeMap more, int64_t padding) {
  AttributeMap attributes = {{"kernel_shape", Attribute(Ints{3, 3})},
                             {"strides", Attribute(Ints{2, 2})},
                             {"pads", Attribute(Ints(4, padding))},
                             {"ceil_mode", Attribute(int64_t{1})}};
  attributes.merge(more);
  const auto x = random_tensor(ElementType::kFloat, {2, 5, 8, 7}, 1, false);
  return {{op, 19, std::move(attributes)}, {x}, {}, Layout::kPlain, 1e-6};
}

void expect_library(OneKernel one) {
  std::string name;
  ASSERT_TRUE(one.run(&name)) << one.reason;
  EXPECT_EQ(name.substr(0, 7), "onednn:");
  one.expect(name);
}

TEST(Pooling, WindowsMayEndBeyondTheImage) {
  for (const int64_t padding : {0, 1}) {
    pool("MaxPool", {}, padding).expect("cpu:max_pool");
    expect_library(pool("AveragePool", {}, padding));
  }
}

TEST(Pooling, WhatLiesBeyondThePaddingIsNotCounted) {
  const AttributeMap counted = {{"count_include_pad", Attribute(int64_t{1})}};
  std::string name;
  // 8 rows and 2 of padding: the last window ends one row beyond.
  EXPECT_FALSE(pool("AveragePool", counted, 1).run(&name));
  OneKernel exact = pool("AveragePool", counted, 1);
  exact.inputs = {random_tensor(ElementType::kFloat, {2, 5, 9, 7}, 1, false)};  // of 9 rows none
  expect_library(exact);
}

// Exact, whatever the storage: windows inside, at borders, in padding alone, and NaN.
TEST(Pooling, LargestOfChannelsLastImages) {
  struct Case {
    Dims x;
    Ints kernel, strides, pads, dilations;
  };
  const std::vector<Case> cases = {{{2, 5, 8, 7}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                                   {{1, 64, 9, 9}, {2, 3}, {1, 2}, {0, 1, 1, 2}, {1, 1}},
                                   {{1, 19, 10, 11}, {3, 2}, {1, 1}, {2, 0, 2, 0}, {2, 3}},
                                   {{2, 16, 12}, {4}, {3}, {1, 2}, {1}}};
  for (const auto type : {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}) {
    for (const Case& each : cases) {
      auto x = random_tensor(ElementType::kFloat, each.x, 1, false);
      x.mutable_values<float>()[9] = std::nanf("");
      x.mutable_values<float>()[12] = -std::numeric_limits<float>::infinity();
      OneKernel one{{"MaxPool",
                     12,
                     {{"kernel_shape", Attribute(each.kernel)},
                      {"strides", Attribute(each.strides)},
                      {"pads", Attribute(each.pads)},
                      {"dilations", Attribute(each.dilations)}}},
                    {Tensor::from_doubles(type, each.x, x.to_doubles())},
                    {},
                    Layout::kChannelsLast};
      SCOPED_TRACE(dims_text(each.x));
      one.expect("cpu:max_pool");
    }
  }
}

// Bits of its sign put it below everything, as numbers go.
TEST(Pooling, ANegativeNaNWinsToo) {
  const std::vector<double> values = {1, -std::nan(""), 2};
  OneKernel one{{"MaxPool", 12, {{"kernel_shape", Attribute(Ints{1, 2})}}},
                {Tensor::from_doubles(ElementType::kBFloat16, {1, 1, 1, 3}, values)},
                {},
                Layout::kChannelsLast};
  std::string name;
  const auto outputs = one.run(&name);
  ASSERT_TRUE(outputs) << one.reason;
  EXPECT_EQ(name, "cpu:max_pool");
  for (const double value : outputs->at(0).to_doubles()) EXPECT_TRUE(std::isnan(value));
}

// Vectors of every length, the last one of which ends with the channels.
TEST(Pooling, LargestInt8OfChannelsLastImages) {
  for (const auto type : {ElementType::kUint8, ElementType::kInt8}) {
    for (const int64_t channels : {1, 3, 8, 24, 33, 64, 100, 144}) {
      SCOPED_TRACE(channels);
      OneKernel one{{"MaxPool",
                     12,
                     {{"kernel_shape", Attribute(Ints{3, 2})},
                      {"strides", Attribute(Ints{2, 1})},
                      {"pads", Attribute(Ints{1, 0, 1, 1})}}},
                    {random_tensor(type, {2, channels, 9, 6}, 1)},
                    {},
                    Layout::kChannelsLast};
      one.expect("cpu:max_pool");
    }
  }
}

// Numbers of both signs below the smallest normal one, and few others.
Tensor subnormals(Dims dims, unsigned seed) {
  std::mt19937_64 random(seed);
  Tensor result(ElementType::kBFloat16, std::move(dims));
  auto* bits = static_cast<uint16_t*>(result.mutable_raw());
  for (int64_t i = 0; i < result.size(); ++i) {
    const uint64_t drawn = random();
    const auto magnitude = static_cast<uint16_t>(1 + drawn % 0x7F);
    bits[i] = static_cast<uint16_t>((drawn >> 32) % 40 == 0  ? 0xC000
                                    : (drawn >> 40) % 4 == 0 ? magnitude
                                                             : magnitude | 0x8000);
  }
  return result;
}

// oneDNN begins with the lowest finite number, which would be left.
TEST(Pooling, TheLargestOfInfinitiesIsOneOfThem) {
  for (const auto type : {ElementType::kFloat, ElementType::kBFloat16}) {
    auto x = random_tensor(ElementType::kFloat, {2, 5, 8, 7}, 1, false);
    const auto values = x.mutable_values<float>();
    for (size_t i = 0; i < values.size() / 2; ++i) values[i] = -std::numeric_limits<float>::infinity();
    const Tensor typed = Tensor::from_doubles(type, x.dims(), x.to_doubles());
    for (const char* op : {"MaxPool", "GlobalMaxPool"}) {
      OneKernel one{{op, 12, {}}, {typed}, {}, Layout::kPlain, 0};
      if (std::string(op) == "MaxPool") one.node.attributes = {{"kernel_shape", Attribute(Ints{3, 3})}};
      std::string name;
      ASSERT_TRUE(one.run(&name)) << one.reason;
      one.expect(name);
    }
  }
}

TEST(Pooling, TheLargestOfSubnormalNumbersIsOneOfThem) {
  const AttributeMap none;
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
    for (const Dims& dims :
         {Dims{2, 5, 9}, Dims{1, 17, 6, 7}, Dims{1, 32, 6, 7}, Dims{1, 3, 4, 5, 3}, Dims{1, 1, 1, 1, 1}}) {
      for (const char* op : {"MaxPool", "GlobalMaxPool", "ReduceMax"}) {
        SCOPED_TRACE(fmt::format("{} of {} in layout {}", op, dims.size(), static_cast<int>(layout)));
        AttributeMap attributes;
        if (op == std::string("MaxPool") && dims[2] > 1)
          attributes = {{"kernel_shape", Attribute(Ints(dims.size() - 2, 2))},
                        {"pads", Attribute(Ints(2 * dims.size() - 4, 1))}};
        else if (op == std::string("MaxPool"))
          attributes = {{"kernel_shape", Attribute(Ints(dims.size() - 2, 1))}};
        OneKernel one{
            {op, op == std::string("ReduceMax") ? 20 : 22, attributes}, {subnormals(dims, 1)}, {}, layout};
        const auto outputs = one.run();
        if (!outputs) continue;  // its reference computes it
        EXPECT_TRUE((*outputs)[0].identical(one.node.run(one.inputs)[0]));
      }
    }
  }
}

}  // namespace
}  // namespace vernier::cpu
