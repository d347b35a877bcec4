// Products of few rows, of bfloat16 and of floats, against the reference.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:gemv";
constexpr double kTolerance = 0x1p-7;  // sums may be rounded the other way

Tensor numbers(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kBFloat16, std::move(dims), seed, false);
}

class Gemv : public testing::Test {
 protected:
  void SetUp() override { VERNIER_NEEDS(kBf16); }
};

OneKernel gemm(int64_t rows, int64_t depth, int64_t columns, AttributeMap attributes = {}) {
  attributes["transB"] = Attribute(int64_t{1});
  return {.node = {"Gemm", 13, attributes},
          .inputs = {numbers({rows, depth}, 1), numbers({columns, depth}, 2), numbers({columns}, 3)},
          .constants = {1, 2},
          .tolerance = kTolerance};
}

TEST_F(Gemv, DepthsAndColumns) {
  for (const int64_t rows : {1, 3}) {
    for (const int64_t depth : {1, 31, 32, 200}) {
      for (const int64_t columns : {1, 7, 8, 64, 147}) {
        SCOPED_TRACE(dims_text({rows, depth, columns}));
        gemm(rows, depth, columns).expect(kName);
      }
    }
  }
  gemm(1, 1280, 1000).expect(kName);  // shared by threads
  gemm(2, 64, 40, {{"alpha", Attribute(0.5F)}}).expect(kName);
}

TEST_F(Gemv, ImagesOfOnePixel) {
  for (const bool bias : {false, true}) {
    OneKernel kernel{.node = {"Conv", 11, {}},
                     .inputs = {numbers({2, 48, 1, 1}, 1), numbers({100, 48, 1, 1}, 2)},
                     .constants = {1, 2},
                     .layout = Layout::kChannelsLast,
                     .tolerance = kTolerance};
    if (bias) kernel.inputs.push_back(numbers({100}, 3));
    kernel.expect(kName);
  }
}

// The same of floats, by the tactic.
OneKernel of_floats(OneKernel kernel) {
  for (Tensor& input : kernel.inputs)
    input = Tensor::from_doubles(ElementType::kFloat, input.dims(), input.to_doubles());
  kernel.tactic = "gemv";
  kernel.tolerance = 1e-5;
  return kernel;
}

TEST_F(Gemv, Floats) {
  for (const int64_t rows : {1, 3}) {
    for (const int64_t depth : {1, 15, 16, 100}) {
      for (const int64_t columns : {1, 7, 16, 48, 147}) {
        SCOPED_TRACE(dims_text({rows, depth, columns}));
        of_floats(gemm(rows, depth, columns)).expect(kName);
      }
    }
  }
  OneKernel deep = of_floats(gemm(1, 1280, 1000));  // shared by threads; sums of up to 11520
  deep.tolerance = 1e-4;
  deep.expect(kName);
  OneKernel image{.node = {"Conv", 11, {}},
                  .inputs = {numbers({2, 48, 1, 1}, 1), numbers({100, 48, 1, 1}, 2), numbers({100}, 3)},
                  .constants = {1, 2},
                  .layout = Layout::kChannelsLast};
  of_floats(image).expect(kName);
  EXPECT_THAT(of_floats(image).tactics(), testing::Contains("gemv"));
  std::string name;
  auto plain = of_floats(image);
  plain.tactic = "";
  EXPECT_TRUE(plain.run(&name));
  EXPECT_NE(name, kName);
}

TEST_F(Gemv, InfinityAndNaNAreNotLost) {
  auto kernel = gemm(1, 40, 9);
  auto x = kernel.inputs[0].to_doubles();
  x[33] = HUGE_VAL;
  kernel.inputs[0] = Tensor::from_doubles(ElementType::kBFloat16, {1, 40}, x);
  kernel.expect(kName);
  x[2] = std::nan("");
  kernel.inputs[0] = Tensor::from_doubles(ElementType::kBFloat16, {1, 40}, x);
  kernel.expect(kName);
}

TEST_F(Gemv, WhatDoesNotFitIsRefused) {
  const auto refused = [](OneKernel kernel) {
    std::string name;
    EXPECT_TRUE(kernel.run(&name)) << kernel.reason;
    EXPECT_NE(name, kName);
  };
  refused(gemm(5, 40, 9));  // rows
  auto unknown = gemm(1, 40, 9);
  unknown.constants = {};
  refused(unknown);
  auto columns = gemm(1, 40, 40);
  columns.node.attributes["transB"] = Attribute(int64_t{0});  // rows of weights would be columns
  refused(columns);
  OneKernel image{.node = {"Conv", 11, {}},
                  .inputs = {numbers({1, 48, 1, 2}, 1), numbers({100, 48, 1, 1}, 2)},
                  .constants = {1},
                  .layout = Layout::kChannelsLast};
  refused(image);
}

}  // namespace
}  // namespace vernier::cpu
