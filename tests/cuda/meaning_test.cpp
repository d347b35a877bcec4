// Tests what programs compute: each kernel on a GPU in software against the reference, at odd sizes.
#include "cuda/reference_comparison.h"
#include "vernier/base/error.h"

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
        Case{"%a: f16[3,5,16], %b: f16[5,1]", "%y: f16[3,5,16] = Sub(%a, %b)"},
        Case{"%a: f32[3,5,8], %b: f32[3,1,8]", "%y: f32[3,5,8] = Sub(%a, %b)"},
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
        Case{"%a: f32[8,70,129]", "%y: f32[8,129] = ReduceMean(%a, %x) {keepdims=0}",
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
        Case{"%q: f32[1,4,18,7], %k: f32[1,2,37,7], %v: f32[1,2,37,70], %m: f32[18,37]",
             "%y: f32[1,4,18,70] = Attention(%q, %k, %v, %m) {softcap = float 2}"},
        Case{"%q: f16[2,1,9], %k: f16[2,3,9], %v: f16[2,3,9]",
             "%y: f16[2,1,9] = Attention(%q, %k, %v) {q_num_heads=3, kv_num_heads=3}"},
        Case{"%a: f32[3,9,2]", "%y: i64[3,1,2] = ArgMax(%a) {axis=1}"},
        Case{"%a: f32[3,9]", "%y: f32[3,9] = CumSum(%a, %x) {reverse=1}",
             "const %x = i64[] hex\"0100000000000000\""},
        Case{"%a: f32[4,6]", "%y: f32[4,6] = Trilu(%a) {upper=0}"}));

// Each is given all numbers of a type of 16 bits.
class QuickFunctionTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(QuickFunctionTest, ResultsAreAUnitInTheLastPlaceOffAtMost) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const auto& [type, call] = GetParam();
  std::string all;
  for (int bits = 0; bits < 65536; ++bits) all += fmt::format("{:02x}{:02x}", bits % 256, bits / 256);
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference({.inputs = "",
                    .line = fmt::format("%y: {}[65536] = {}", type, call),
                    .constants = fmt::format("const %a = {}[65536] hex\"{}\"", type, all),
                    .to_a_unit = true},
                   gpu, Context(gpu.driver, 0));
}

INSTANTIATE_TEST_SUITE_P(Functions, QuickFunctionTest,
                         testing::Combine(testing::Values("f16", "bf16"),
                                          testing::Values("Sigmoid(%a)", "Gelu(%a)",
                                                          "Swish(%a) {alpha = float 1.5}")));
// In the tail of bfloat16 the reference's own formula cancels.
INSTANTIATE_TEST_SUITE_P(Tanh, QuickFunctionTest,
                         testing::Values(std::tuple("f16", "Gelu(%a) {approximate = \"tanh\"}")));

// Rows of packs and of single elements, which threads keep or compute each time, with what comes before them.
class NormalizationTest : public testing::TestWithParam<Case> {};

TEST_P(NormalizationTest, RowsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0), {},
                   [](const CudaKernel& kernel) { EXPECT_EQ(kernel.name, "cuda:normalize"); });
}

INSTANTIATE_TEST_SUITE_P(
    Rows, NormalizationTest,
    testing::Values(
        Case{"%a: f16[5,72], %s: f16[72], %b: f16[72]", "%y: f16[5,72] = LayerNormalization(%a, %s, %b)"},
        Case{"%a: bf16[2,3,33], %s: bf16[33]", "%y: bf16[2,3,33] = LayerNormalization(%a, %s)"},
        // Float has no squares of these, nor their sum.
        Case{
            .inputs = "%a: bf16[1,16]",
            .line = "%y: bf16[1,16] = RMSNormalization(%a, %s)",
            .constants =
                "const %s = bf16[16] hex\"803f803f803f803f803f803f803f803f803f803f803f803f803f803f803f803f\"",
            .given = {{0, std::vector<int64_t>(16, int64_t{1} << 62)}}},
        Case{.inputs = "%a: f16[2,24], %s: f16[24]",
             .line = "%y: f16[2,24] = LayerNormalization(%a, %s) {epsilon = float 1e-12}",
             .given = {{0, std::vector<int64_t>(48, 3)}},
             .exact = true},
        Case{"%a: f32[600,72], %s: f32[72], %b: f32[72]", "%y: f32[600,72] = LayerNormalization(%a, %s, %b)"},
        Case{"%a: f32[1,40004], %s: f32[40004]", "%y: f32[1,40004] = LayerNormalization(%a, %s)"},
        Case{"%a: f64[3,4,5], %s: f64[4,5]", "%y: f64[3,4,5] = RMSNormalization(%a, %s) {axis=1}"},
        Case{"%a: f32[3,8], %s: f32[8]",
             "%y: f32[3,8], %m: f32[3,1], %d: f32[3,1] = LayerNormalization(%a, %s)"},
        Case{"%a: f16[2,3,16], %k: f16[1,3,16], %s: f16[16], %b: f16[16], %c: f16[16]",
             "%y: f16[2,3,16], _, _, %z: f16[2,3,16] = com.microsoft::SkipLayerNormalization(%a, %k, %s, %b, "
             "%c)"},
        Case{"%a: f16[6,16], %k: f16[6,16], %c: f16[16], %s: f16[16], %b: f16[16]",
             "%t: f16[6,16] = Add(%a, %c)",
             "",
             {},
             {"%u: f16[6,16] = Add(%t, %k)", "%y: f16[6,16] = LayerNormalization(%u, %s, %b)"},
             "normalization"},
        Case{"%a: f32[6,12], %k: f32[6,1], %s: f32[12]",
             "%u: f32[6,12] = Add(%a, %k)",
             "",
             {},
             {"%y: f32[6,12] = LayerNormalization(%u, %s)"},
             "normalization",
             {},
             {},
             false,
             {},
             "%u, %y"}));

// Attention by products of matrix units: its sizes need not be those of tiles.
class MatrixAttentionTest : public testing::TestWithParam<Case> {};

TEST_P(MatrixAttentionTest, HeadsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0), {}, [](const CudaKernel& kernel) {
    EXPECT_EQ(kernel.name, "cuda:attention");
    EXPECT_TRUE(kernel.contract.probabilities.is_defined());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Heads, MatrixAttentionTest,
    testing::Values(
        Case{"%q: f16[1,2,5,8], %k: f16[1,2,70,8], %v: f16[1,2,70,8]",
             "%y: f16[1,2,5,8] = Attention(%q, %k, %v)"},
        Case{"%q: bf16[1,4,18,40], %k: bf16[1,2,19,40], %v: bf16[1,2,19,72], %m: bf16[18,19]",
             "%y: bf16[1,4,18,72] = Attention(%q, %k, %v, %m) {softcap = float 2}"},
        Case{"%q: f16[2,17,48], %k: f16[2,17,48], %v: f16[2,17,48]",
             "%y: f16[2,17,48] = Attention(%q, %k, %v) {q_num_heads=2, kv_num_heads=2, is_causal=1}"},
        Case{"%q: f16[1,2,3,16], %k: f16[1,2,40,16], %v: f16[1,2,40,16], %m: bool[1,1,3,40]",
             "%y: f16[1,2,3,16] = Attention(%q, %k, %v, %m)"},
        // So many heads that blocks take 64 queries.
        Case{"%q: f16[2,64,17,64], %k: f16[2,32,70,64], %v: f16[2,32,70,64], %m: f16[17,70]",
             "%y: f16[2,64,17,64] = Attention(%q, %k, %v, %m)"},
        Case{"%q: bf16[1,65,66,72], %k: bf16[1,65,34,72], %v: bf16[1,65,34,104]",
             "%y: bf16[1,65,66,104] = Attention(%q, %k, %v) {is_causal=1}"}));

// Attention of floats with so many queries that blocks take 64 of them: their sizes need not be those of
// tiles.
class FloatAttentionTest : public testing::TestWithParam<Case> {};

TEST_P(FloatAttentionTest, HeadsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0), {}, [](const CudaKernel& kernel) {
    EXPECT_EQ(kernel.sources().back().name, "float_attention");
  });
}

INSTANTIATE_TEST_SUITE_P(
    Heads, FloatAttentionTest,
    testing::Values(Case{"%q: f32[2,64,17,8], %k: f32[2,64,70,8], %v: f32[2,64,70,12], %m: f32[17,70]",
                         "%y: f32[2,64,17,12] = Attention(%q, %k, %v, %m)"},
                    Case{"%q: f32[1,64,66,4], %k: f32[1,32,68,4], %v: f32[1,32,68,64]",
                         "%y: f32[1,64,66,64] = Attention(%q, %k, %v) {is_causal=1}"},
                    // The second query may attend to nothing.
                    Case{"%q: f32[128,1,5,64], %k: f32[128,1,3,64], %v: f32[128,1,3,4], %m: bool[1,1,5,3]",
                         "%y: f32[128,1,5,4] = Attention(%q, %k, %v, %m)",
                         "",
                         {{3, {1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0}}}}));

// As wrong as on the host: beyond what a sound kernel may differ by, as the tolerance is that of sound ones.
INSTANTIATE_TEST_SUITE_P(
    FaultySums, MeaningTest, testing::ValuesIn([] {
      std::vector<Case> all;
      for (const Fault fault : {Fault::kAccumulation, Fault::kFp16Accumulator, Fault::kTf32}) {
        Case product{"%a: f32[3,300], %b: f32[300,20]", "%y: f32[3,20] = MatMul(%a, %b)"},
            gemm{"%a: f32[4,70], %b: f32[9,70], %c: f32[9]",
                 "%y: f32[4,9] = Gemm(%a, %b, %c) {transB = 1, alpha = float 0.5}"},
            convolution{"%x: f32[2,16,7,6], %w: f32[8,8,3,3], %b: f32[8]",
                        "%y: f32[2,8,4,6] = Conv(%x, %w, %b) {group = 2, strides = ints[2, 1], "
                        "pads = ints[1, 0, 1, 2]}"};
        for (Case* each : {&product, &gemm, &convolution}) {
          each->fault = fault;
          all.push_back(*each);
        }
      }
      return all;
    }()));

}  // namespace
}  // namespace vernier::cuda
