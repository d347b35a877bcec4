// Tests what convolutions by cuDNN compute, with the library in software.
#include "cuda/reference_comparison.h"
#include "cuda/software_cudnn.h"
#include "vernier/backends/cuda/cudnn/convolution.h"

namespace vernier::cuda {
namespace {

using testing::HasSubstr;

const std::string kImage = "%x: f16[2,4,9,8], %w: f16[6,4,3,3]", kConv = "%y: f16[2,6,7,6] = Conv(%x, %w)";

class CudnnMeaningTest : public testing::TestWithParam<Case> {};

TEST_P(CudnnMeaningTest, ConvolutionsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  OpenedCudnn dnn(gpu.driver, {{{}, {}, 1000}, {}});
  for (const bool in_own_layout : {false, true}) {
    Case each = GetParam();
    if (in_own_layout) each.lay_out = lay_out_convolution;
    size_t proofs = 0;
    expect_reference(each, gpu, dnn.context, {nullptr, &dnn.cudnn}, [&](const CudaKernel& kernel) {
      EXPECT_THAT(kernel.name, HasSubstr("cudnn:"));
      proofs = software_cudnn().runs;
    });
    EXPECT_EQ(software_cudnn().runs, proofs + 1);
  }
  EXPECT_TRUE(software_cudnn().aligned);
}

const std::string kBody = "%c: f16[2,6,7,6] = Conv(%x, %w, %b)";

INSTANTIATE_TEST_SUITE_P(
    Convolutions, CudnnMeaningTest,
    testing::Values(
        Case{kImage, kConv}, Case{"%x: f32[2,4,9,8], %w: f32[6,4,3,3]", "%y: f32[2,6,7,6] = Conv(%x, %w)"},
        Case{"%x: bf16[1,3,7,7], %w: bf16[5,3,3,3], %b: bf16[5]",
             "%y: bf16[1,5,4,4] = Conv(%x, %w, %b) {strides=ints[2, 2], pads=ints[1, 1, 1, 1]}"},
        Case{"%x: f16[1,4,7,6], %w: f16[6,2,2,3]",
             "%y: f16[1,6,8,4] = Conv(%x, %w) {group=2, dilations=ints[1, 2], pads=ints[2, 1, 0, 1]}"},
        Case{"%x: f16[2,3,5,5], %w: f16[6,1,3,3], %b: f16[6]",
             "%y: f16[2,6,3,3] = Conv(%x, %w, %b) {group=3}"},
        Case{"%x: f16[2,4,9], %w: f16[6,4,3]", "%y: f16[2,6,7] = Conv(%x, %w)"},
        Case{"%x: f16[1,2,3,4,5], %w: f16[3,2,2,2,2]", "%y: f16[1,3,2,3,4] = Conv(%x, %w)"},
        Case{"%x: f16[1,4,5,5], %w: f16[6,4,1,1], %b: f16[6]", "%y: f16[1,6,5,5] = Conv(%x, %w, %b)"},
        Case{"%a: f16[3,5], %b: f16[7,5], %c: f16[7]", "%y: f16[3,7] = Gemm(%a, %b, %c) {transB=1}"},
        Case{"%a: bf16[1,5], %b: bf16[5,7], %c: bf16[1,7]", "%y: bf16[1,7] = Gemm(%a, %b, %c)"},
        Case{"%x: f16[1,2,2,3]", "%y: f16[1,1,2,2] = Conv(%x, %w)",
             "const %w = f16[1,2,1,2] hex\"0000003c00400042\""},
        // Few channels of constant weights: they get more in the library's layout.
        Case{"%x: f16[2,2,5], %b: f16[1]", "%y: f16[2,1,4] = Conv(%x, %w, %b)",
             "const %w = f16[1,2,2] hex\"0000003c00400042\""},
        Case{kImage + ", %b: f16[6], %r: f16[2,6,7,6]",
             kBody,
             "",
             {},
             {"%s: f16[2,6,7,6] = Add(%c, %r)", "%y: f16[2,6,7,6] = Relu(%s)"},
             "conv"},
        Case{kImage + ", %b: f16[6]", kBody, "", {}, {"%y: f16[2,6,7,6] = Relu(%c)"}, "conv"},
        Case{kImage + ", %r: f16[2,6,7,6]",
             "%c: f16[2,6,7,6] = Conv(%x, %w)",
             "",
             {},
             {"%y: f16[2,6,7,6] = Add(%r, %c)"},
             "conv"},
        Case{kImage,
             "%c: f16[2,6,7,6] = Conv(%x, %w)",
             "const %l = f16[] hex\"0000\"\nconst %h = f16[] hex\"0046\"",
             {},
             {"%y: f16[2,6,7,6] = Clip(%c, %l, %h)"},
             "conv"}));

}  // namespace
}  // namespace vernier::cuda
