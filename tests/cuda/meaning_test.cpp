// What programs compute: each kernel on a GPU in software against the reference, at odd sizes.
#include "cuda/reference_comparison.h"

namespace vernier::cuda {
namespace {

class MeaningTest : public testing::TestWithParam<Case> {};

TEST_P(MeaningTest, ProgramsComputeWhatTheReferenceDoes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0));
}

const std::string kPads =
    "const %p = i64[4] hex\"0100000000000000020000000000000000000000000000000300000000000000\"";

INSTANTIATE_TEST_SUITE_P(
    Kernels, MeaningTest,
    testing::Values(
        Case{"%a: f32[3,5,7], %b: f32[5,1]", "%y: f32[3,5,7] = Sub(%a, %b)"},
        Case{"%a: f16[3,35], %b: f16[35]", "%y: f16[3,35] = Mul(%a, %b)"},
        Case{"%a: bf16[33]", "%y: bf16[33] = Sigmoid(%a)"}, Case{"%a: f32[33]", "%y: f32[33] = Gelu(%a)"},
        Case{"%a: f64[9]", "%y: f64[9] = Atan(%a)"},
        Case{"%a: i64[9], %b: i64[1]", "%y: i64[9] = Mod(%a, %b)", "", {{1, {2}}}},
        Case{"%c: bool[4,1], %a: f32[4,6], %b: f32[]", "%y: f32[4,6] = Where(%c, %a, %b)"},
        Case{"%a: f32[17]", "%y: i32[17] = Cast(%a) {to=6}"},
        Case{"%a: f32[17]", "%y: f16[17] = Cast(%a) {to=10}"},
        Case{"%a: i32[17], %b: i32[17]", "%y: bool[17] = LessOrEqual(%a, %b)"},
        Case{"%a: f32[4,40,50]", "%y: f32[4,50,40] = Transpose(%a) {perm=ints[0, 2, 1]}"},
        Case{"%a: u8[3,4,5]", "%y: u8[5,3,4] = Transpose(%a) {perm=ints[2, 0, 1]}"},
        Case{"%a: f32[2,3], %b: f32[2,5]", "%y: f32[2,8] = Concat(%a, %b) {axis=1}"},
        Case{"%a: f32[3,4]", "%y: f32[4,9] = Pad(%a, %p)", kPads},
        Case{"%a: f16[4,4]", "%y: f16[5,9] = Pad(%a, %p) {mode = \"reflect\"}", kPads},
        Case{"%a: f32[3,4,2], %i: i64[2,2]",
             "%y: f32[3,2,2,2] = Gather(%a, %i) {axis=1}",
             "",
             {{1, {0, 3, -1, 1}}}},
        Case{"%a: f32[3,4], %i: i64[3,2]", "%y: f32[3,2] = GatherElements(%a, %i) {axis=1}"},
        Case{"%a: f32[3,4,2], %i: i64[2,2]", "%y: f32[2,2] = GatherND(%a, %i)", "", {{1, {0, 3, 2, 1}}}},
        Case{"%a: f32[3,4], %i: i64[3,2], %u: f32[3,2]",
             "%y: f32[3,4] = ScatterElements(%a, %i, %u) {axis=1, reduction = \"add\"}"},
        Case{"%a: f32[4,2], %i: i64[3,1], %u: f32[3,2]",
             "%y: f32[4,2] = ScatterND(%a, %i, %u)",
             "",
             {{1, {2, 0, 2}}}},
        Case{"%a: f32[5,200]", "%y: f32[5,1] = ReduceMean(%a, %x)",
             "const %x = i64[1] hex\"0100000000000000\""},
        Case{"%a: f32[5,7,3]", "%y: f32[7] = ReduceLogSumExp(%a, %x) {keepdims=0}",
             "const %x = i64[2] hex\"00000000000000000200000000000000\""},
        Case{"%a: i32[5,7]", "%y: i32[5,1] = ReduceMax(%a, %x)", "const %x = i64[1] hex\"0100000000000000\""},
        Case{"%a: f16[3,50,2]", "%y: f16[3,50,2] = Softmax(%a) {axis=1}"},
        Case{"%a: f32[3,50]", "%y: f32[3,50] = LogSoftmax(%a)"},
        Case{"%a: f32[3,50], %s: f32[50], %b: f32[50]", "%y: f32[3,50] = LayerNormalization(%a, %s, %b)"},
        Case{"%a: f32[2,6,5], %s: f32[6], %b: f32[6]",
             "%y: f32[2,6,5] = GroupNormalization(%a, %s, %b) {num_groups=3}"},
        Case{"%a: f32[2,3,6,7]",
             "%y: f32[2,3,3,3] = MaxPool(%a) {kernel_shape=ints[3, 2], strides=ints[2, 2], pads=ints[1, 0, "
             "0, 0]}"},
        Case{"%a: f32[2,3,6,7]",
             "%y: f32[2,3,6,7] = AveragePool(%a) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]}"},
        Case{"%a: f32[1,2,4,5]", "%y: f32[1,2,8,10] = Resize(%a, _, %s) {mode = \"linear\"}",
             "const %s = f32[4] hex\"0000803f0000803f0000004000000040\""},
        Case{"%a: f32[33,70], %b: f32[70,17]", "%y: f32[33,17] = MatMul(%a, %b)"},
        Case{"%a: f16[2,3,20,24], %b: f16[3,24,18]", "%y: f16[2,3,20,18] = MatMul(%a, %b)"},
        Case{"%a: f32[18,20], %b: f32[21,18], %c: f32[21]",
             "%y: f32[20,21] = Gemm(%a, %b, %c) {transA=1, transB=1, alpha=float 0.5, beta=float 2}"},
        Case{"%a: f32[2,3,9,8], %w: f32[10,3,3,3], %b: f32[10]",
             "%y: f32[2,10,5,4] = Conv(%a, %w, %b) {strides=ints[2, 2], pads=ints[1, 1, 1, 1]}"},
        Case{"%a: f32[1,4,9,8], %w: f32[4,1,3,3]", "%y: f32[1,4,7,6] = Conv(%a, %w) {group=4}"},
        Case{"%a: f32[1,4,5,4], %w: f32[4,3,3,2]",
             "%y: f32[1,3,9,6] = ConvTranspose(%a, %w) {strides=ints[2, 2], pads=ints[1, 1, 1, 1]}"},
        Case{"%q: f32[1,2,5,8], %k: f32[1,2,7,8], %v: f32[1,2,7,6]",
             "%y: f32[1,2,5,6] = Attention(%q, %k, %v) {is_causal=1}"},
        Case{"%a: f32[3,9,2]", "%y: i64[3,1,2] = ArgMax(%a) {axis=1}"},
        Case{"%a: f32[3,9]", "%y: f32[3,9] = CumSum(%a, %x) {reverse=1}",
             "const %x = i64[] hex\"0100000000000000\""},
        Case{"%a: f32[4,6]", "%y: f32[4,6] = Trilu(%a) {upper=0}"}));

}  // namespace
}  // namespace vernier::cuda
