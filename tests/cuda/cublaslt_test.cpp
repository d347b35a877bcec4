// Products by cuBLASLt: what it is asked for, which of its ways are taken, and what comes out, without a GPU.
#include "cuda/reference_comparison.h"
#include "cuda/software_cublaslt.h"
#include "vernier/backends/cuda/cublaslt/lt_product.h"
#include "vernier/backends/cuda/cublaslt/matmul.h"
#include "vernier/base/error.h"

namespace vernier::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The library, opened, on a GPU in software.
struct Opened {
  explicit Opened(const DriverApi& driver, uint64_t flags = kHalfUnits)
      : context(driver, 0),
        library({"libcublasLt.so.13", "/lib", "13.1.0", ""}, reset_software_cublaslt(flags)) {}

  Context context;
  CublasLtLibrary library;
  CublasLt cublaslt{context, library};
};

class CublasLtTest : public testing::Test {
 protected:
  std::optional<LtProduct> asked(const std::string& inputs, const std::string& line) {
    model_ = one_node(inputs, line);
    return lt_product(*known_request(*model_.graph->nodes().back()), reason_);
  }
  std::optional<LtProduct> group(const std::string& inputs, const std::vector<std::string>& lines) {
    model_ = one_group(inputs, lines, "matmul");
    return lt_product(*known_request(*model_.graph->nodes().back()), reason_);
  }
  // Whether the second of these nodes can follow the first.
  bool follows(const std::string& inputs, const std::string& line, const std::string& next) {
    const Model model = nodes(inputs, {line, next});
    const auto& both = model.graph->nodes();
    return can_follow_product(*both.front(), *both.back(), *both.front()->output(0));
  }
  std::unique_ptr<CudaKernel> make(CublasLt& cublaslt, const std::string& inputs, const std::string& line) {
    model_ = one_node(inputs, line);
    return make_library_product(*known_request(*model_.graph->nodes().back()), cublaslt, reason_);
  }

  DriverApi driver_ = reset_fake_driver();
  Model model_;
  std::string reason_;
};

TEST_F(CublasLtTest, AProductByRowsIsAskedForInTheOtherOrderByColumns) {
  const auto product = asked("%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)");
  ASSERT_TRUE(product) << reason_;
  EXPECT_EQ(product->left, (LtMatrix{7, 5, 7, 0}));
  EXPECT_EQ(product->right, (LtMatrix{5, 3, 5, 0}));
  EXPECT_EQ(product->result, (LtMatrix{7, 3, 7, 21}));
  EXPECT_EQ(product->left_input, 1U);
  EXPECT_FALSE(product->transpose_left || product->transpose_right);
}

TEST_F(CublasLtTest, TransposedFactorsAreTurnedAsTheyLie) {
  const auto product = asked("%a: f32[5,3], %b: f32[7,5]",
                             "%y: f32[3,7] = Gemm(%a, %b) {transA=1, transB=1, alpha = float 0.5}");
  ASSERT_TRUE(product) << reason_;
  EXPECT_EQ(product->left, (LtMatrix{5, 7, 5, 0}));
  EXPECT_EQ(product->right, (LtMatrix{3, 5, 3, 0}));
  EXPECT_TRUE(product->transpose_left && product->transpose_right);
  EXPECT_EQ(product->alpha, 0.5F);
  EXPECT_EQ(product->addend, Addend::kNone);
}

TEST_F(CublasLtTest, BatchesStepThroughTheirMatricesAndBroadcastOnesStay) {
  const auto both = asked("%a: f16[2,4,3,5], %b: f16[2,4,5,7]", "%y: f16[2,4,3,7] = MatMul(%a, %b)");
  EXPECT_EQ(both->batch, 8);
  EXPECT_EQ(both->left.step, 35);
  EXPECT_EQ(both->right.step, 15);
  const auto one = asked("%a: f16[3,5], %b: f16[4,5,7]", "%y: f16[4,3,7] = MatMul(%a, %b)");
  EXPECT_EQ(one->batch, 4);
  EXPECT_EQ(one->right.step, 0);
  const auto rows = asked("%a: f16[4,3,5], %b: f16[5,7]", "%y: f16[4,3,7] = MatMul(%a, %b)");
  EXPECT_EQ(rows->batch, 1);  // all rows are one matrix
  EXPECT_EQ(rows->right.columns, 12);
  EXPECT_FALSE(asked("%a: f16[2,1,3,5], %b: f16[1,4,5,7]", "%y: f16[2,4,3,7] = MatMul(%a, %b)"));
  EXPECT_THAT(reason_, HasSubstr("no single step"));
}

TEST_F(CublasLtTest, AddendsAreAddedWhereOneRoundingIsKept) {
  const std::string factors = "%a: f32[3,5], %b: f32[5,7], ", gemm = "%y: f32[3,7] = Gemm(%a, %b, %c)";
  EXPECT_EQ(asked(factors + "%c: f32[7]", gemm)->addend, Addend::kEpilogue);
  EXPECT_EQ(asked(factors + "%c: f32[7]", gemm + " {beta = float 0.5}")->addend, Addend::kSpread);
  EXPECT_EQ(asked(factors + "%c: f32[3,7]", gemm + " {beta = float 0.5}")->addend, Addend::kMatrix);
  EXPECT_EQ(asked(factors + "%c: f32[3,1]", gemm)->addend, Addend::kSpread);
  EXPECT_EQ(asked(factors + "%c: f32[]", gemm)->addend, Addend::kSpread);
  EXPECT_FALSE(asked(factors + "%c: f32[7]", gemm + " {beta = float 0}"));
  EXPECT_THAT(reason_, HasSubstr("factor of zero"));
}

// In 16 bits, some algorithms round the sum before they scale it or add to it.
TEST_F(CublasLtTest, SumsOf16BitsAreNeitherScaledNorAddedTo) {
  for (const std::string type : {"f16", "bf16"}) {
    const std::string factors = "%a: " + type + "[3,5], %b: " + type + "[5,7]",
                      gemm = "%y: " + type + "[3,7] = Gemm(%a, %b";
    EXPECT_TRUE(asked(factors, gemm + ")"));
    EXPECT_FALSE(asked(factors, gemm + ") {alpha = float 0.5}"));
    EXPECT_THAT(reason_, HasSubstr("twice"));
    for (const char* dims : {"[7]", "[3,7]", "[3,1]"})
      EXPECT_FALSE(asked(factors + ", %c: " + type + dims, gemm + ", %c)"));
    EXPECT_FALSE(asked("%x: " + type + "[1,5,2,2], %w: " + type + "[7,5,1,1], %b: " + type + "[7]",
                       "%y: " + type + "[1,7,2,2] = Conv(%x, %w, %b)"));
  }
}

TEST_F(CublasLtTest, AnElementForEachColumnIsAddedInAGroup) {
  const std::string inputs = "%c: f16[7], %a: f16[2,3,5], %b: f16[5,7]",
                    product = "%p: f16[2,3,7] = MatMul(%a, %b)";
  const auto made = group(inputs, {product, "%y: f16[2,3,7] = Add(%c, %p)"});
  ASSERT_TRUE(made) << reason_;
  EXPECT_EQ(made->addend, Addend::kEpilogue);
  const auto& read = ops::body(*model_.graph->nodes().back()).inputs;
  EXPECT_EQ(read.at(made->addend_input)->name, "c");
  EXPECT_EQ(read.at(made->right_input)->name, "a");
  EXPECT_EQ(read.at(made->left_input)->name, "b");
  EXPECT_FALSE(group(inputs, {product, "%y: f16[2,3,7] = Mul(%c, %p)"}));
  EXPECT_THAT(reason_, HasSubstr("no group but"));
  EXPECT_FALSE(
      group("%a: f16[2,3,5], %b: f16[5,7], %c: f16[3,7]", {product, "%y: f16[2,3,7] = Add(%p, %c)"}));
  EXPECT_THAT(reason_, HasSubstr("one element for each column"));
}

TEST_F(CublasLtTest, GroupsAreMadeOfProductsAndAnElementForEachColumn) {
  const std::string
      inputs =
          "%a: f16[2,3,5], %b: f16[5,7], %v: f16[2,5,7], %c: f16[7], %r: f16[1,7], %m: f16[3,7], %s: f16[1]",
      product = "%p: f16[2,3,7] = MatMul(%a, %b)";
  EXPECT_TRUE(follows(inputs, product, "%y: f16[2,3,7] = Add(%p, %c)"));
  EXPECT_TRUE(follows(inputs, product, "%y: f16[2,3,7] = Add(%r, %p)"));
  EXPECT_FALSE(follows(inputs, product, "%y: f16[2,3,7] = Add(%p, %p)"));
  EXPECT_FALSE(follows(inputs, product, "%y: f16[2,3,7] = Add(%p, %m)"));
  EXPECT_FALSE(follows(inputs, product, "%y: f16[2,3,7] = Add(%p, %s)"));
  EXPECT_FALSE(follows(inputs, product, "%y: f16[2,3,7] = Mul(%p, %c)"));
  EXPECT_FALSE(follows(inputs, "%p: f16[2,3,7] = MatMul(%a, %v)", "%y: f16[2,3,7] = Add(%p, %c)"));
  EXPECT_FALSE(follows("%a: f64[3,5], %b: f64[5,7], %c: f64[7]", "%p: f64[3,7] = MatMul(%a, %b)",
                       "%y: f64[3,7] = Add(%p, %c)"));
}

TEST_F(CublasLtTest, WhatIsNoProductOfMatricesIsLeft) {
  EXPECT_FALSE(asked("%a: f64[3,5], %b: f64[5,7]", "%y: f64[3,7] = MatMul(%a, %b)"));
  EXPECT_THAT(reason_, HasSubstr("f64"));
  EXPECT_FALSE(asked("%a: f32[3,0], %b: f32[0,7]", "%y: f32[3,7] = MatMul(%a, %b)"));
  EXPECT_FALSE(asked("%x: f32[1,4,6,6], %w: f32[8,4,3,3]", "%y: f32[1,8,4,4] = Conv(%x, %w)"));
  EXPECT_THAT(reason_, HasSubstr("windows"));
  EXPECT_FALSE(asked("%x: f32[1,4,6,6], %w: f32[8,2,1,1]", "%y: f32[1,8,6,6] = Conv(%x, %w) {group=2}"));
  EXPECT_THAT(reason_, HasSubstr("groups"));
  EXPECT_FALSE(
      asked("%x: f32[1,4,6,6], %w: f32[8,4,1,1]", "%y: f32[1,8,3,3] = Conv(%x, %w) {strides=ints[2, 2]}"));
}

TEST_F(CublasLtTest, TheFirstWayThatKeepsToTheContractIsTaken) {
  Opened lt(driver_);
  SoftwareCublasLt& library = software_cublaslt();
  constexpr uint32_t kInPlace = 1, kInOutputType = 4;
  library.ways = {{kHalfUnits, kLtOneSequence, 0, 15},
                  {kHalfSums},
                  {kHalfUnits, kInPlace},
                  {kHalfUnits, kInOutputType},
                  {kHalfUnits, kLtOneSequence, size_t{64} << 20},
                  {kHalfUnits, kLtInComputeType, 4096},
                  {kHalfUnits}};
  const auto kernel = make(lt.cublaslt, "%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)");
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->name, "cublaslt:product");
  EXPECT_EQ(kernel->scratch_bytes, 4096U + 256U);
  EXPECT_EQ(kernel->contract, blocked_contract(ElementType::kFloat, ElementType::kFloat16));
  EXPECT_EQ(library.operation.compute, kLtCompute32F);
  EXPECT_EQ(library.operation.scale, kLtFloat);
  EXPECT_EQ(library.preference[kLtReductionSchemes], kLtInComputeType);
  EXPECT_EQ(library.preference[kLtMostWorkspace], size_t{32} << 20);
  for (const int attribute : kLtAlignments) EXPECT_EQ(library.preference[attribute], 16U);
}

// Where cuDNN is there, images of 16 bits lie channels last, and a product of rows would be another.
TEST_F(CublasLtTest, ImagesThatLieChannelsLastAreLeft) {
  model_ = one_node("%x: f16[1,5,2,2], %w: f16[7,5,1,1]", "%y: f16[1,7,2,2] = Conv(%x, %w)");
  KernelRequest request = *known_request(*model_.graph->nodes().back());
  EXPECT_TRUE(lt_product(request, reason_)) << reason_;
  request.inputs[0]->layout = request.outputs[0]->layout = Layout::kChannelsLast;
  EXPECT_FALSE(lt_product(request, reason_));
  EXPECT_THAT(reason_, HasSubstr("channels lie last"));
}

TEST_F(CublasLtTest, WaysThatKeepToTheContractAreTactics) {
  Opened lt(driver_);
  software_cublaslt().ways = {{kHalfUnits}, {kHalfSums}, {kHalfUnits, kLtInComputeType, 4096}};
  model_ = one_node("%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)");
  KernelRequest request = *known_request(*model_.graph->nodes().back());
  EXPECT_THAT(library_product_tactics(request, lt.cublaslt),
              testing::ElementsAre("cublaslt:algorithm1", "cublaslt:algorithm3,scheme2"));
  request.tactic = "cublaslt:algorithm3,scheme2";
  const auto kernel = make_library_product(request, lt.cublaslt, reason_);
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->scratch_bytes, 4096U + 256U);
  request.tactic = "cublaslt:algorithm2";
  EXPECT_EQ(make_library_product(request, lt.cublaslt, reason_), nullptr);
  EXPECT_THAT(reason_, HasSubstr("no way 'cublaslt:algorithm2'"));
}

TEST_F(CublasLtTest, FloatsAreNeverMultipliedAsTf32WhereNobodyAskedForIt) {
  Opened lt(driver_, kTf32Units);
  const std::string inputs = "%a: f32[3,5], %b: f32[5,7]", line = "%y: f32[3,7] = MatMul(%a, %b)";
  EXPECT_EQ(make(lt.cublaslt, inputs, line), nullptr);
  EXPECT_THAT(reason_, HasSubstr("of 1 ways of cuBLASLt none keeps to strict sums"));
  software_cublaslt().ways.push_back({kFloatLoops});
  EXPECT_NE(make(lt.cublaslt, inputs, line), nullptr) << reason_;
  EXPECT_EQ(software_cublaslt().live, 0U);  // no descriptor outlives its kernel
}

TEST_F(CublasLtTest, FloatsAreMultipliedAsTf32WhereTheyMayBe) {
  Opened lt(driver_);
  SoftwareCublasLt& library = software_cublaslt();
  library.ways = {{kFloatLoops}, {kTf32Units, kLtInComputeType}, {kTf32Units}};
  const std::string inputs = "%a: f32[3,5], %b: f32[5,7]", line = "%y: f32[3,7] = MatMul(%a, %b) {tf32=1}";
  const auto kernel = make(lt.cublaslt, inputs, line);
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->name, "cublaslt:tf32");
  EXPECT_EQ(kernel->contract.text(), "computed f32, operands tf32, accumulated f32 blocked, stored f32");
  EXPECT_EQ(library.operation.compute, kLtCompute32FByTf32);
  EXPECT_EQ(library.operation.scale, kLtFloat);
  KernelRequest request = *known_request(*model_.graph->nodes().back());
  const std::vector<std::string> tactics = library_product_tactics(request, lt.cublaslt);
  EXPECT_THAT(tactics, ElementsAre("cublaslt:tf32,algorithm2,scheme2", "cublaslt:tf32,algorithm3",
                                   "cublaslt:algorithm1"));
  for (const std::string& tactic : tactics) {
    request.tactic = tactic;
    const auto made = make_library_product(request, lt.cublaslt, reason_);
    ASSERT_NE(made, nullptr) << reason_;
    EXPECT_EQ(made->contract.operands.is_defined(), tactic.find("tf32") != std::string::npos) << tactic;
  }
}

TEST_F(CublasLtTest, WithoutAWayByTf32ProductsStayStrict) {
  Opened lt(driver_, kFloatLoops);
  const auto kernel =
      make(lt.cublaslt, "%a: f32[3,5], %b: f32[5,7]", "%y: f32[3,7] = MatMul(%a, %b) {tf32=1}");
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->contract, blocked_contract(ElementType::kFloat, ElementType::kFloat));
  EXPECT_EQ(software_cublaslt().operation.compute, kLtCompute32F);
}

// Elements of 16 bits have fewer digits than TF32.
TEST_F(CublasLtTest, Tf32IsForFloats) {
  Opened lt(driver_);
  const auto kernel =
      make(lt.cublaslt, "%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b) {tf32=1}");
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(software_cublaslt().operation.compute, kLtCompute32F);
  EXPECT_FALSE(kernel->contract.operands.is_defined());
}

// Without the library the generated kernel serves.
TEST_F(CublasLtTest, AMissingLibraryLeavesProductsToOwnKernels) {
  const Context context(driver_, 0);
  const CublasLtLibrary library({"libcublasLt.so.13", "", "", "cuBLASLt is nowhere"}, {});
  CublasLt cublaslt(context, library);
  EXPECT_EQ(make(cublaslt, "%a: f32[3,5], %b: f32[5,7]", "%y: f32[3,7] = MatMul(%a, %b)"), nullptr);
  EXPECT_EQ(reason_, "cuBLASLt is nowhere");
  const auto kernel = make_cuda_kernel(*known_request(*model_.graph->nodes().back()), reason_, {&cublaslt});
  EXPECT_EQ(kernel->name, "cuda:product");
}

TEST_F(CublasLtTest, ALibraryThatDoesNotServeTheGpuLeavesProductsToOwnKernels) {
  Opened lt(driver_);
  software_cublaslt().create = 1;
  EXPECT_EQ(make(lt.cublaslt, "%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)"), nullptr);
  EXPECT_THAT(reason_, HasSubstr("does not serve this GPU"));
}

TEST_F(CublasLtTest, WhatGoesWrongIsToldWhenTheHostWaits) {
  Opened lt(driver_);
  const auto kernel = make(lt.cublaslt, "%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)");
  CudaDevice device(lt.context);
  CudaStream stream(device);
  const auto memory = device.allocate(256);
  const void* inputs[] = {memory->address(), memory->address()};
  void* outputs[] = {memory->address()};
  software_cublaslt().multiply = 15;
  kernel->run({inputs, outputs, nullptr, &stream});
  EXPECT_THROW(stream.wait_on_host(stream.record()), Error);
}

class CublasLtMeaningTest : public testing::TestWithParam<Case> {};

TEST_P(CublasLtMeaningTest, ProductsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Opened lt(gpu.driver, kFloatLoops);
  software_cublaslt().ways = {{kFloatLoops, kLtInComputeType, 1000}};
  expect_reference(GetParam(), gpu, lt.context, {&lt.cublaslt}, [](const CudaKernel& kernel) {
    EXPECT_EQ(kernel.name, "cublaslt:product");
    EXPECT_TRUE(kernel.reads(0) && kernel.reads(1));
  });
  EXPECT_THAT(software_cublaslt().chosen, ElementsAre(0));
  EXPECT_TRUE(software_cublaslt().aligned);
}

INSTANTIATE_TEST_SUITE_P(
    Products, CublasLtMeaningTest,
    testing::Values(
        Case{"%a: f32[3,5], %b: f32[5,7]", "%y: f32[3,7] = MatMul(%a, %b)"},
        Case{"%a: f16[33,17], %b: f16[17,1]", "%y: f16[33,1] = MatMul(%a, %b)"},
        Case{"%a: bf16[1,17], %b: bf16[17,9]", "%y: bf16[1,9] = MatMul(%a, %b)"},
        Case{"%a: f32[5], %b: f32[5,7]", "%y: f32[7] = MatMul(%a, %b)"},
        Case{"%a: f32[2,3,5], %b: f32[5]", "%y: f32[2,3] = MatMul(%a, %b)"},
        Case{"%a: f32[5], %b: f32[5]", "%y: f32[] = MatMul(%a, %b)"},
        Case{"%a: f16[2,4,3,5], %b: f16[2,4,5,7]", "%y: f16[2,4,3,7] = MatMul(%a, %b)"},
        Case{"%a: f32[3,5], %b: f32[4,5,7]", "%y: f32[4,3,7] = MatMul(%a, %b)"},
        Case{"%a: f32[4,3,5], %b: f32[5,7]", "%y: f32[4,3,7] = MatMul(%a, %b)"},
        Case{"%a: f32[4,1,3,5], %b: f32[5,7]", "%y: f32[4,1,3,7] = MatMul(%a, %b)"},
        Case{"%a: f32[5,3], %b: f32[5,7]", "%y: f32[3,7] = Gemm(%a, %b) {transA=1}"},
        Case{"%a: f32[5,1], %b: f32[5,7]", "%y: f32[1,7] = Gemm(%a, %b) {transA=1}"},
        Case{"%a: f32[1,3], %b: f32[1,7]", "%y: f32[3,7] = Gemm(%a, %b) {transA=1}"},
        Case{"%a: f32[3,1], %b: f32[7,1]", "%y: f32[3,7] = Gemm(%a, %b) {transB=1}"},
        Case{"%a: f32[3,5], %b: f32[1,5]", "%y: f32[3,1] = Gemm(%a, %b) {transB=1}"},
        Case{"%a: f32[5,3], %b: f32[7,5], %c: f32[7]",
             "%y: f32[3,7] = Gemm(%a, %b, %c) {transA=1, transB=1, alpha = float 0.5}"},
        Case{"%a: f32[3,5], %b: f32[5,7], %c: f32[1,7]", "%y: f32[3,7] = Gemm(%a, %b, %c)"},
        Case{"%a: f32[3,5], %b: f32[5,7], %c: f32[3,7]", "%y: f32[3,7] = Gemm(%a, %b, %c) {beta = float 2}"},
        Case{"%a: f32[3,5], %b: f32[5,7], %c: f32[3,1]", "%y: f32[3,7] = Gemm(%a, %b, %c) {beta = float 2}"},
        Case{"%a: f32[3,5], %b: f32[5,7], %c: f32[]", "%y: f32[3,7] = Gemm(%a, %b, %c)"},
        Case{"%a: f32[3,5], %b: f32[5,1], %c: f32[3,1]", "%y: f32[3,1] = Gemm(%a, %b, %c)"},
        Case{"%a: f32[1,5], %b: f32[5,7], %c: f32[1]", "%y: f32[1,7] = Gemm(%a, %b, %c)"},
        Case{.inputs = "%a: f32[2,3,5], %b: f32[5,7], %c: f32[7]",
             .line = "%p: f32[2,3,7] = MatMul(%a, %b)",
             .followed = {"%y: f32[2,3,7] = Add(%p, %c)"},
             .kind = "matmul"},
        Case{.inputs = "%c: f16[1,7], %a: f16[3,5], %b: f16[5,7]",
             .line = "%p: f16[3,7] = MatMul(%a, %b)",
             .followed = {"%y: f16[3,7] = Add(%c, %p)"},
             .kind = "matmul"},
        Case{"%x: f32[2,5,3,3], %w: f32[7,5,1,1]", "%y: f32[2,7,3,3] = Conv(%x, %w)"},
        Case{"%x: f16[2,5,3,3], %w: f16[7,5,1,1]", "%y: f16[2,7,3,3] = Conv(%x, %w)"},
        Case{"%x: f32[2,5,3,3], %w: f32[7,5,1,1], %b: f32[7]", "%y: f32[2,7,3,3] = Conv(%x, %w, %b)"},
        Case{"%x: f32[1,5,11], %w: f32[1,5,1], %b: f32[1]", "%y: f32[1,1,11] = Conv(%x, %w, %b)"},
        Case{"%x: f32[3,5,1,1], %w: f32[7,5,1,1], %b: f32[7]", "%y: f32[3,7,1,1] = Conv(%x, %w, %b)"}));

}  // namespace
}  // namespace vernier::cuda
