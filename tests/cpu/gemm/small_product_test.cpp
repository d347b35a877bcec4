// Small MatMul and Gemm against the reference, alone and with what follows them.
#include "cpu/one_kernel.h"
#include "cpu/one_step.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:small_product";

Tensor values(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
}

TEST(SmallProduct, RowsDepthsAndColumns) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 13}) {
    for (const int64_t depth : {1, 3, 8, 37}) {
      for (const int64_t columns : {1, 16, 31, 32, 64, 65})
        OneKernel{{"MatMul", 13},
                  {values({rows, depth}, 1), values({depth, columns}, 2)},
                  {1},
                  Layout::kPlain,
                  1e-5}
            .expect(kName);
    }
  }
  // Sums of more than a block.
  OneKernel{{"MatMul", 13}, {values({7, 1100}, 1), values({1100, 5}, 2)}, {1}, Layout::kPlain, 1e-4}.expect(
      kName);
  // These weights are shared by threads.
  for (const int64_t rows : {1, 2})
    OneKernel{{"MatMul", 13}, {values({rows, 450}, 1), values({450, 1001}, 2)}, {1}, Layout::kPlain, 1e-4}
        .expect(kName);
  OneKernel{{"MatMul", 13}, {values({2, 3, 4, 5}, 1), values({5, 6}, 2)}, {1}, Layout::kPlain, 1e-5}.expect(
      kName);
  OneKernel{{"MatMul", 13}, {values({5}, 1), values({5, 6}, 2)}, {1}, Layout::kPlain, 1e-5}.expect(kName);
}

TEST(SmallProduct, GemmWithItsAttributes) {
  for (const int64_t transposed : {0, 1}) {
    const ops::OneNode gemm{"Gemm", 13, {{"transB", Attribute(transposed)}}};
    const auto x = values({3, 7}, 1), w = values(transposed == 1 ? Dims{9, 7} : Dims{7, 9}, 2);
    for (const Dims& c : {Dims{9}, Dims{1, 9}, Dims{3, 9}, Dims{1}, Dims{}}) {
      for (const std::set<size_t>& constants : {std::set<size_t>{1}, std::set<size_t>{1, 2}})
        OneKernel{gemm, {x, w, values(c, 3)}, constants, Layout::kPlain, 1e-5}.expect(kName);
    }
  }
}

TEST(SmallProduct, WhatIsNoNumberStaysSo) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  OneKernel{{"MatMul", 13},
            {ops::floats({3, 2}, {nan, 1, inf, 1, 1, -inf}), ops::floats({2, 2}, {1, 2, 3, 4})},
            {1},
            Layout::kPlain,
            1e-6}
      .expect(kName);
}

TEST(SmallProduct, LargeOnesAndUnknownWeightsAreLeftToTheLibrary) {
  std::string name;
  OneKernel large{{"MatMul", 13}, {values({64, 512}, 1), values({512, 64}, 2)}, {1}, Layout::kPlain, 1e-4};
  ASSERT_TRUE(large.run(&name));
  EXPECT_NE(name, kName);
  OneKernel unknown{{"MatMul", 13}, {values({3, 4}, 1), values({4, 5}, 2)}};
  ASSERT_TRUE(unknown.run(&name));
  EXPECT_NE(name, kName);
}

// A product with each operator that may follow it, and what that reads beside it.
TEST(SmallProduct, Epilogues) {
  const std::string head = R"(graph "g" (%x: f32[3, 4], %row: f32[5], %all: f32[3, 5], %one: f32[1]) -> (%y) {
    const %w = f32[4, 5] hex")";
  std::string weights;
  for (const double value : values({4, 5}, 9).to_doubles()) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    for (int byte = 0; byte < 4; ++byte) weights += fmt::format("{:02x}", bits >> (8 * byte) & 0xFF);
  }
  for (const std::string post :
       {"Relu(%p) version 14", "LeakyRelu(%p) {alpha = float 0.25} version 16", "Sigmoid(%p) version 13",
        "Tanh(%p) version 13", "Elu(%p) {alpha = float 0.5} version 6", "Abs(%p) version 13",
        "Exp(%p) version 13", "Clip(%p) {max = float 1.0, min = float -0.5} version 6", "Neg(%p) version 13",
        "Swish(%p) {alpha = float 1.5} version 24", "HardSigmoid(%p) {alpha = float 0.25} version 6",
        "Add(%p, %row) version 14", "Sub(%p, %all) version 14", "Mul(%one, %p) version 14",
        "Div(%p, %all) version 14", "Max(%p, %row) version 13", "Min(%all, %p) version 13"}) {
    const Model model =
        parse_graph(head + weights + "\"\n    %p: f32[*] = MatMul(%x, %w) version 13 @\"p\" from [\"p\"]\n" +
                    "    %y: f32[*] = " + post + " @\"y\" from [\"y\"]\n  }");
    SCOPED_TRACE(post);
    expect_one_step(model, kName, 2e-6);
  }
}

}  // namespace
}  // namespace vernier::cpu
