// Small products of matrices that are both known only when they are multiplied, against the reference.
#include "cpu/one_kernel.h"
#include "cpu/one_step.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:small_matrices";

Tensor values(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
}

void expect_product(Dims a, Dims b, double tolerance = 1e-5) {
  OneKernel{{"MatMul", 13}, {values(std::move(a), 1), values(std::move(b), 2)}, {}, Layout::kPlain, tolerance}
      .expect(kName);
}

TEST(SmallMatrices, RowsDepthsAndColumns) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 12, 13, 30}) {
    for (const int64_t depth : {1, 3, 8, 37}) {
      for (const int64_t columns : {1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65})
        expect_product({rows, depth}, {depth, columns});
    }
  }
  expect_product({7, 1100}, {1100, 5}, 1e-4);  // sums of more than a block
}

TEST(SmallMatrices, BatchesAndWhatIsTheSameForAll) {
  expect_product({2, 3, 4, 5}, {2, 3, 5, 6});
  expect_product({2, 3, 4, 5}, {5, 6});
  expect_product({2, 3, 4, 5}, {3, 5, 6});
  expect_product({2, 1, 4, 5}, {1, 3, 5, 33});
  expect_product({4, 5}, {2, 3, 5, 6});
  expect_product({5}, {5, 6});
  expect_product({3, 5}, {5});
  expect_product({5}, {2, 5, 6});
  expect_product({2, 4, 5}, {5});
}

TEST(SmallMatrices, WhatIsNoNumberStaysSoAndStaysWhereItIs) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  OneKernel{{"MatMul", 13},
            {ops::floats({3, 2}, {nan, 1, inf, 1, 1, -inf}), ops::floats({2, 3}, {1, 2, 3, 4, inf, nan})},
            {},
            Layout::kPlain,
            1e-6}
      .expect(kName);
}

TEST(SmallMatrices, LargeOnesAreLeftToTheLibrary) {
  std::string name;
  OneKernel large{{"MatMul", 13}, {values({128, 128}, 1), values({128, 128}, 2)}, {}, Layout::kPlain, 1e-4};
  ASSERT_TRUE(large.run(&name));
  EXPECT_NE(name, kName);
}

TEST(SmallMatrices, WhatFollowsIsOneKernelWithIt) {
  for (const std::string post :
       {"Relu(%p) version 14", "Add(%p, %row) version 14", "Add(%all, %p) version 14",
        "Mul(%p, %one) version 14", "Tanh(%p) version 13"}) {
    const Model model = parse_graph(
        R"(graph "g" (%a: f32[2, 3, 4, 5], %b: f32[2, 3, 5, 37], %row: f32[37], %all: f32[2, 3, 4, 37], %one: f32[1]) -> (%y) {
    %p: f32[*] = MatMul(%a, %b) version 13 @"p" from ["p"]
    %y: f32[*] = )" +
        post + " @\"y\" from [\"y\"]\n  }");
    SCOPED_TRACE(post);
    expect_one_step(model, kName, 2e-6);
  }
}

}  // namespace
}  // namespace vernier::cpu
