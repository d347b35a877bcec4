// Products and convolutions of int8 against the reference, bit for bit where it makes values: by
// own kernels and by cuBLASLt, in software.
#include "vernier/backends/cuda/quantization/int8_contraction.h"

#include "cuda/reference_comparison.h"
#include "cuda/software_cublaslt.h"

namespace vernier::cuda {
namespace {

using testing::HasSubstr;

struct Opened {
  explicit Opened(const DriverApi& driver)
      : context(driver, 0),
        library({"libcublasLt.so.13", "/lib", "13.1.0", ""}, reset_software_cublaslt(kFloatLoops)) {
    software_cublaslt().ways = {{kFloatLoops, kLtInComputeType, 1000}};
  }

  Context context;
  CublasLtLibrary library;
  CublasLt cublaslt{context, library};
};

bool lies_channels_last(KernelRequest& request) {
  lay_out_int8(request);
  return request.out().layout == Layout::kChannelsLast;
}

class Int8ContractionTest : public testing::TestWithParam<Case> {};

TEST_P(Int8ContractionTest, OwnKernelsComputeWhatTheReferenceDoes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0), {}, [](const CudaKernel& kernel) {
    EXPECT_THAT(kernel.name, HasSubstr("cuda:int8-"));
    EXPECT_EQ(kernel.contract.accumulated, ElementType::kInt32);
  });
}

class LibraryInt8Test : public testing::TestWithParam<Case> {};

TEST_P(LibraryInt8Test, ProductsOfTheLibraryAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Opened lt(gpu.driver);
  expect_reference(GetParam(), gpu, lt.context, {&lt.cublaslt},
                   [](const CudaKernel& kernel) { EXPECT_THAT(kernel.name, HasSubstr("cublaslt:int8-")); });
  EXPECT_EQ(software_cublaslt().chosen.size(), 1U);
  EXPECT_TRUE(software_cublaslt().aligned);
}

// Rows of values, "const %w = i8[8,5] hex…", that differ from row to row; of INT32 positive ones below 256.
std::string values(const std::string& name, const std::string& type, const Dims& dims) {
  std::string text =
      "const %" + name + " = " + type + "[" + fmt::format("{}", fmt::join(dims, ",")) + "] hex\"";
  for (int64_t i = 0; i < element_count(dims); ++i)
    text += fmt::format("{:02x}{}", (i * 37 + i / 5 * 11) % 256, type == "i32" ? "000000" : "");
  return text + "\"\n";
}

// "const %s = f32[] hex…", or of several numbers.
std::string floats(const std::string& name, const std::vector<float>& values, const std::string& dims) {
  std::string text = "const %" + name + " = f32[" + dims + "] hex\"";
  for (const float value : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const unsigned shift : {0U, 8U, 16U, 24U}) text += fmt::format("{:02x}", bits >> shift & 0xffU);
  }
  return text + "\"\n";
}

std::string scalar(const std::string& name, float value) {
  return floats(name, {value}, "");
}

const std::string kScales = scalar("as", 0.03125F) + scalar("bs", 0.25F) + scalar("ys", 0.37F);
const std::string kZeros = values("z", "u8", {}) + "const %az = u8[] hex\"03\"\nconst %bz = u8[] hex\"80\"\n";

std::vector<Case> all(std::vector<Case> cases) {
  for (Case& each : cases) each.exact = true;
  return cases;
}

// Columns of b come in words, as the library wants them.
std::vector<Case> products() {
  const std::string integer = "MatMulInteger(%a, %b",
                    matmul = " = QLinearMatMul(%a, %as, %az, %b, %bs, %bz, %ys, %z)";
  const std::string parameters = ", %as: f32[], %az: u8[], %bs: f32[], %bz: i8[], %ys: f32[], %z: u8[]";
  return all({
      {"%a: i8[3,8], %b: i8[8,4]", "%y: i32[3,4] = " + integer + ")"},
      {"%a: u8[3,7], %b: i8[7,8]", "%y: i32[3,8] = " + integer + ")"},
      {"%a: u8[5,7], %b: u8[7,8], %p: u8[], %q: u8[8]", "%y: i32[5,8] = " + integer + ", %p, %q)"},
      {"%a: i8[5,8], %b: u8[8,4], %p: i8[5], %q: u8[]", "%y: i32[5,4] = " + integer + ", %p, %q)"},
      {"%a: u8[2,3,5,7], %b: i8[2,3,7,4], %p: u8[2,3,5,1], %q: i8[2,3,1,4]",
       "%y: i32[2,3,5,4] = " + integer + ", %p, %q)"},
      {"%a: i8[2,5,8], %b: i8[8,4], %p: i8[], %q: i8[4]", "%y: i32[2,5,4] = " + integer + ", %p, %q)"},
      {"%a: i8[8], %b: u8[8,4], %p: i8[], %q: u8[4]", "%y: i32[4] = " + integer + ", %p, %q)"},
      {"%a: u8[33,70], %p: u8[]", "%y: i32[33,20] = " + integer + ", %p)", values("b", "i8", {70, 20})},
      {"%a: u8[3,8], %p: u8[]", "%y: i32[3,4] = " + integer + ", %p, %bz)",
       values("b", "u8", {8, 4}) + kZeros},
      {"%a: u8[3,7], %b: i8[7,4]" + parameters, "%y: u8[3,4]" + matmul},
      {"%a: u8[2,3,7]", "%y: u8[2,3,8]" + matmul, values("b", "u8", {7, 8}) + kScales + kZeros},
      {"%a: i8[3,8], %az: i8[3], %as: f32[3], %b: i8[8,4], %bz: i8[4], %bs: f32[4], %ys: f32[], %z: i8[]",
       "%y: i8[3,4]" + matmul},
  });
}

std::vector<Case> convolutions() {
  const std::string integer = "ConvInteger(%x, %w",
                    linear = "QLinearConv(%x, %as, %az, %w, %bs, %bz, %ys, %z";
  const std::string window = ") {strides=ints[2, 1], pads=ints[1, 0, 1, 2]}";
  std::vector<Case> cases = all({
      {"%x: u8[2,4,6,5], %w: i8[8,4,3,3]", "%y: i32[2,8,3,5] = " + integer + window},
      {"%x: u8[2,3,6,5], %w: u8[4,3,3,3], %p: u8[], %q: u8[]",
       "%y: i32[2,4,3,5] = " + integer + ", %p, %q" + window},
      {"%x: i8[1,5,9], %w: i8[4,5,3], %p: i8[]", "%y: i32[1,4,5] = " + integer + ", %p) {dilations=ints[2]}"},
      {"%x: i8[2,16,3,3], %p: i8[]", "%y: i32[2,4,3,3] = " + integer + ", %p)",
       values("w", "i8", {4, 16, 1, 1})},
      {"%x: u8[1,2,3,4,5], %p: u8[]", "%y: i32[1,4,2,3,4] = " + integer + ", %p)",
       values("w", "i8", {4, 2, 2, 2, 2})},
      {"%x: u8[2,4,6,5]", "%y: u8[2,8,3,5] = " + linear + window,
       values("w", "u8", {8, 4, 3, 3}) + kScales + kZeros},
      {"%x: u8[2,4,6,5], %c: i32[8]", "%y: u8[2,8,3,5] = " + linear + ", %c" + window,
       values("w", "i8", {8, 4, 3, 3}) + values("bz", "i8", {8}) + kScales + values("z", "u8", {}) +
           values("az", "u8", {})},
  });
  return cases;
}

std::vector<Case> channels_last(std::vector<Case> cases) {
  for (Case& each : cases) each.lay_out = lies_channels_last;
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Products, Int8ContractionTest, testing::ValuesIn(products()));
INSTANTIATE_TEST_SUITE_P(Convolutions, Int8ContractionTest, testing::ValuesIn(convolutions()));
INSTANTIATE_TEST_SUITE_P(ChannelsLast, Int8ContractionTest, testing::ValuesIn(channels_last(convolutions())));
INSTANTIATE_TEST_SUITE_P(Products, LibraryInt8Test, testing::ValuesIn(products()));
INSTANTIATE_TEST_SUITE_P(Convolutions, LibraryInt8Test, testing::ValuesIn(convolutions()));
INSTANTIATE_TEST_SUITE_P(ChannelsLast, LibraryInt8Test, testing::ValuesIn(channels_last(convolutions())));

// Columns that are no multiple of four get others of zeros where they are known.
std::vector<Case> odd_columns() {
  return all({
      {"%a: i8[5,8]", "%y: i32[5,5] = MatMulInteger(%a, %b)", values("b", "i8", {8, 5})},
      {"%a: u8[3,5,7], %p: u8[]", "%y: i32[3,5,3] = MatMulInteger(%a, %b, %p, %bz)",
       values("b", "u8", {7, 3}) + kZeros},
      {"%a: u8[3,7]", "%y: u8[3,3] = QLinearMatMul(%a, %as, %az, %b, %bs, %bz, %ys, %z)",
       values("b", "u8", {7, 3}) + kScales + kZeros},
      {"%x: u8[3,4,3,5], %p: u8[]", "%y: i32[3,3,3,3] = ConvInteger(%x, %w, %p) {pads=ints[1, 0, 1, 0]}",
       values("w", "i8", {3, 4, 3, 3})},
  });
}

std::vector<Case> odd_channels() {
  auto cases = odd_columns();
  cases.erase(cases.begin(), cases.end() - 1);
  return channels_last(std::move(cases));
}

INSTANTIATE_TEST_SUITE_P(OddColumns, LibraryInt8Test, testing::ValuesIn(odd_columns()));
INSTANTIATE_TEST_SUITE_P(OddChannels, LibraryInt8Test, testing::ValuesIn(odd_channels()));

// As where windows are more than the cache of a device holds.
class PiecesTest : public testing::TestWithParam<Case> {};

TEST_P(PiecesTest, RowsThatAreGatheredPieceByPieceMakeTheSame) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Opened lt(gpu.driver);
  constexpr int64_t kFewValues = 400;
  expect_reference(
      GetParam(), gpu, lt.context, {}, [](const CudaKernel&) {},
      [&](const KernelRequest& request, std::string& reason) {
        return make_library_int8_contraction(request, lt.cublaslt, reason, kFewValues);
      });
  EXPECT_GT(software_cublaslt().chosen.size(), 1U);
  EXPECT_EQ(software_cublaslt().live, 0U);
}

INSTANTIATE_TEST_SUITE_P(Windows, PiecesTest, testing::ValuesIn([] {
                           auto cases = convolutions();
                           std::erase_if(
                               cases, [](const Case& each) { return !each.inputs.starts_with("%x: u8[2,"); });
                           return channels_last(std::move(cases));
                         }()));

TEST(Int8RowsTest, PiecesAreAboutAsLargeAsOneAnother) {
  Int8Rows rows = rows_of_matrix({1001, 64});
  std::vector<int64_t> counts;
  for (const RowChunk& chunk : rows.chunks(64 * 300)) counts.push_back(chunk.count);
  EXPECT_THAT(counts, testing::ElementsAre(251, 251, 251, 248));
  EXPECT_EQ(rows.chunks(1).size(), 1001U);
  EXPECT_EQ(rows.chunks(int64_t{1} << 30).size(), 1U);
}

// The library does not multiply these: few columns, batches that broadcast, groups of channels.
std::vector<Case> own_only() {
  const std::string window =
      "ConvInteger(%x, %w, %p, %q) {group=4, strides=ints[2, 1], pads=ints[1, 0, 1, 2]}";
  return all({
      {"%a: i8[3,8], %b: i8[8]", "%y: i32[3] = MatMulInteger(%a, %b)"},
      {"%a: i8[5,8], %b: i8[8,5], %p: i8[], %q: i8[5]", "%y: i32[5,5] = MatMulInteger(%a, %b, %p, %q)"},
      {"%a: u8[2,1,3,8], %b: u8[1,3,8,4], %p: u8[3,1], %q: u8[1,3,1,4]",
       "%y: i32[2,3,3,4] = MatMulInteger(%a, %b, %p, %q)"},
      {"%x: u8[2,4,6,5], %w: i8[4,1,3,3], %p: u8[], %q: i8[4]", "%y: i32[2,4,3,5] = " + window},
      {"%x: u8[2,4,6,5], %w: i8[8,1,3,3], %p: u8[], %q: i8[]", "%y: i32[2,8,3,5] = " + window},
  });
}

INSTANTIATE_TEST_SUITE_P(OwnOnly, Int8ContractionTest, testing::ValuesIn(own_only()));

// Groups as the passes make them. Scales are powers of two, so that what is dequantized is exact; those of
// results are not.
std::vector<Case> groups() {
  const std::string scales = kScales + kZeros + scalar("rs", 0.5F) +
                             floats("ws", {0.5F, 0.25F, 1, 2, 0.5F, 0.125F, 0.25F, 4}, "8"),
                    result = "%y: u8[2,8,3,5] = QuantizeLinear(%r, %ys, %z)";
  const auto dequantized = [](const std::string& name, const std::string& dims,
                              const std::string& arguments) {
    return "%" + name + ": f32[" + dims + "] = DequantizeLinear(" + arguments + ")";
  };
  const std::string image = dequantized("xd", "2,4,6,5", "%x, %as, %az"),
                    weights = dequantized("wd", "8,4,3,3", "%w, %ws") + " {axis=0}",
                    window = " {strides=ints[2, 1], pads=ints[1, 0, 1, 2]}";
  const std::string conv = "%q: f32[2,8,3,5] = Conv(%xd, %wd", relu = "%r: f32[2,8,3,5] = Relu(%q)";
  std::vector<Case> cases = {
      {"%x: u8[2,4,6,5]",
       image,
       scales + values("w", "i8", {8, 4, 3, 3}),
       {},
       {weights, conv + ")" + window, relu, result},
       "qconv"},
      {"%x: u8[2,4,6,5]",
       image,
       scales + values("w", "i8", {8, 4, 3, 3}) + floats("c", {1, -2, 3, 0.1F, 5, 6, -7, 8}, "8"),
       {},
       {weights, conv + ", %c)" + window, "%r: f32[2,8,3,5] = LeakyRelu(%q)", result},
       "qconv"},
      {"%x: u8[2,4,6,5]",
       image,
       scales + values("w", "i8", {8, 4, 3, 3}),
       {},
       {weights, "%y" + conv.substr(2) + ")" + window},
       "qconv"},
      {"%x: u8[2,4,6,5]",
       image,
       scales + values("w", "i8", {8, 4, 3, 3}) + scalar("low", 0) + "const %top = u8[] hex\"0c\"\n",
       {},
       {weights, conv + ")" + window, dequantized("high", "", "%top, %rs"),
        "%r: f32[2,8,3,5] = Clip(%q, %low, %high)", result},
       "qconv"},
      // An INT32 bias, and a residual that is quantized.
      {"%x: u8[2,4,6,5], %s: i8[2,8,3,5]",
       image,
       scales + values("w", "i8", {8, 4, 3, 3}) + values("c", "i32", {8}),
       {},
       {weights, dequantized("cd", "8", "%c, %rs"), conv + ", %cd)" + window,
        "%p: u8[2,8,3,5] = QuantizeLinear(%q, %rs, %z)", dequantized("pd", "2,8,3,5", "%p, %rs, %z"),
        dequantized("sd", "2,8,3,5", "%s, %rs"), "%r: f32[2,8,3,5] = Add(%sd, %pd)", result},
       "qconv"},
      {"%a: u8[3,5,7]",
       dequantized("ad", "3,5,7", "%a, %as, %az"),
       scales + values("b", "i8", {7, 8}) + floats("v", {1, -2, 3, 0.1F, 5, 6, -7, 8}, "8"),
       {},
       {dequantized("bd", "7,8", "%b, %ws") + " {axis=1}", "%q: f32[3,5,8] = MatMul(%ad, %bd)",
        "%r: f32[3,5,8] = Add(%q, %v)", "%y: u8[3,5,8] = QuantizeLinear(%r, %ys, %z)"},
       "qmatmul"},
      {"%a: i8[5,8], %b: u8[4,8]",
       dequantized("ad", "5,8", "%a, %as"),
       scales + floats("v", {1, -2, 3, 0.1F}, "4"),
       {},
       {dequantized("bd", "4,8", "%b, %bs, %bz"), "%y: f32[5,4] = Gemm(%ad, %bd, %v) {transB=1}"},
       "qmatmul"},
      {"%a: i8[2,3,5,8], %b: i8[2,3,8,4]",
       dequantized("ad", "2,3,5,8", "%a, %as"),
       scales,
       {},
       {dequantized("bd", "2,3,8,4", "%b, %bs"), "%q: f32[2,3,5,4] = MatMul(%ad, %bd)",
        "%y: u8[2,3,5,4] = QuantizeLinear(%q, %ys, %z)"},
       "qmatmul"}};
  return all(std::move(cases));
}

std::vector<Case> image_groups() {
  auto cases = groups();
  std::erase_if(cases, [](const Case& each) { return each.kind != "qconv"; });
  return channels_last(std::move(cases));
}

INSTANTIATE_TEST_SUITE_P(Groups, Int8ContractionTest, testing::ValuesIn(groups()));
INSTANTIATE_TEST_SUITE_P(Groups, LibraryInt8Test, testing::ValuesIn(groups()));
INSTANTIATE_TEST_SUITE_P(GroupsOfImages, Int8ContractionTest, testing::ValuesIn(image_groups()));
INSTANTIATE_TEST_SUITE_P(GroupsOfImages, LibraryInt8Test, testing::ValuesIn(image_groups()));

// Operators of com.microsoft, in FLOAT or quantized again.
std::vector<Case> microsoft() {
  const std::string a = "%a: u8[5,7], %as: f32[], %az: u8[], ", b = "%b: i8[7,4], %bs: f32[4], %bz: i8[4]",
                    gemm = "com.microsoft::QGemm(%a, %as, %az, %b, %bs, %bz";
  return {{a + b, "%y: f32[5,4] = com.microsoft::MatMulIntegerToFloat(%a, %b, %as, %bs, %az, %bz)"},
          {a + b + ", %c: f32[4]",
           "%y: f32[5,4] = com.microsoft::MatMulIntegerToFloat(%a, %b, %as, %bs, %az, %bz, %c)"},
          {a + b + ", %c: i32[4]", "%y: f32[5,4] = " + gemm + ", %c) {alpha = float 0.5}"},
          {a + b + ", %c: i32[5,4], %ys: f32[], %z: u8[]", "%y: u8[5,4] = " + gemm + ", %c, %ys, %z)"},
          {a + "%b: i8[4,7], %bs: f32[4], %bz: i8[4]", "%y: f32[5,4] = " + gemm + ") {transB=1}"}};
}

INSTANTIATE_TEST_SUITE_P(Microsoft, Int8ContractionTest, testing::ValuesIn(microsoft()));
INSTANTIATE_TEST_SUITE_P(Microsoft, LibraryInt8Test, testing::ValuesIn(microsoft()));

TEST(LibraryInt8Test, WhatTheLibraryDoesNotMultiplyIsLeftToOwnKernels) {
  const SoftwareGpu gpu = reset_software_gpu();
  Opened lt(gpu.driver);
  for (const Case& each : own_only()) {
    const Model model = model_of(each);
    const auto request = known_request(*model.graph->nodes().back());
    std::string reason;
    const auto kernel = make_cuda_kernel(*request, reason, {&lt.cublaslt});
    ASSERT_NE(kernel, nullptr) << reason;
    EXPECT_THAT(kernel->name, HasSubstr("cuda:int8-"));
    EXPECT_TRUE(cuda_tactics(*request, {&lt.cublaslt}).empty());
  }
}

}  // namespace
}  // namespace vernier::cuda
