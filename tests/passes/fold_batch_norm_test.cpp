#include "passes/expect_pass.h"

namespace vernier {
namespace {

std::string normalised(const char* outputs) {
  return fmt::format(R"(graph "g" (%x: f32[1, 1, 3, 3]) -> ({}) {{
    const %w = f32[2, 1, 1, 1] hex"0000003f000000c0"
    const %scale = f32[2] hex"0000c03f00004040"
    const %bias = f32[2] hex"0000803f000080bf"
    const %mean = f32[2] hex"0000003f0000803e"
    const %variance = f32[2] hex"000000400000803f"
    %c: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
    %y: f32[*] = BatchNormalization(%c, %scale, %bias, %mean, %variance) version 15 @"bn" from ["bn"]
  }})",
                     outputs);
}

TEST(FoldBatchNorm, IntoAConvolution) {
  expect_pass({fold_batch_norm()}, normalised("%y"),
              R"(graph "g" (%x: f32[1, 1, 3, 3]) -> (%y) {
      const %y/weights = f32[2, 1, 1, 1] hex"a0c3073fc1ffbfc0"
      const %y/bias = f32[2] hex"c078f03ee1ffdfbf"
      %y: f32[1, 2, 3, 3] = Conv(%x, %y/weights, %y/bias) version 22 @"conv" from ["bn", "conv"]
  })");
}

TEST(FoldBatchNorm, IntoThoseThatAreChosen) {
  expect_unchanged({fold_batch_norm([](const Node& node) { return node.name != "conv"; })}, normalised("%y"));
}

TEST(FoldBatchNorm, WeightsOfAConstantNode) {
  expect_pass({.pass = fold_batch_norm(), .then = {remove_dead_code()}},
              R"(graph "g" (%x: f32[1, 1, 3, 3]) -> (%y) {
    const %one = f32[1] hex"0000803f"
    const %two = f32[1] hex"00000040"
    const %zero = f32[1] hex"00000000"
    %w: f32[*] = Constant() {value = tensor f32[1, 1, 1, 1] hex"0000003f"} version 13 @"w" from ["w"]
    %c: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
    %y: f32[*] = BatchNormalization(%c, %two, %one, %zero, %one) {epsilon = float 0} version 15 @"bn" from ["bn"]
  })",
              R"(graph "g" (%x: f32[1, 1, 3, 3]) -> (%y) {
      const %y/weights = f32[1, 1, 1, 1] hex"0000803f"
      const %y/bias = f32[1] hex"0000803f"
      %y: f32[1, 1, 3, 3] = Conv(%x, %y/weights, %y/bias) version 22 @"conv" from ["bn", "conv"]
  })");
}

TEST(FoldBatchNorm, AConvolutionThatOthersReadStays) {
  expect_unchanged({fold_batch_norm()}, normalised("%y, %c"));
}

}  // namespace
}  // namespace vernier
