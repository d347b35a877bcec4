// Tests what kernels are made for, what they launch, and what is left to the CPU: without a GPU.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>

#include "cuda/fake_driver.h"
#include "cuda/graph_requests.h"
#include "source_dir.h"
#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/ops/op_def.h"

namespace vernier::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class KernelTest : public testing::Test {
 protected:
  // The kernel of the one node of a graph; null, with the reason, where there is none.
  std::unique_ptr<CudaKernel> make(const std::string& inputs, const std::string& line,
                                   const std::string& constant = "") {
    model_ = one_node(inputs, line, constant);
    const auto request = known_request(*model_.graph->nodes().back());
    return make_cuda_kernel(*request, reason_);
  }

  Model model_;
  std::string reason_;
};

TEST_F(KernelTest, PointwiseOperandsThatLieAlikeAreReadSixteenBytesAtATime) {
  const auto kernel = make("%a: f16[3,40], %b: f16[3,40]", "%y: f16[3,40] = Add(%a, %b)");
  ASSERT_NE(kernel, nullptr) << reason_;
  const std::string text = kernel->sources()[0].text();
  EXPECT_THAT(text, HasSubstr("Pack<f16, N> x0"));
  EXPECT_THAT(text, HasSubstr("elements<8>"));
  EXPECT_THAT(text, HasSubstr("op_Add(v0, v1)"));
  EXPECT_EQ(kernel->contract.computed, ElementType::kFloat);
  EXPECT_EQ(kernel->contract.stored, ElementType::kFloat16);
  EXPECT_FALSE(kernel->contract.approximate);
  EXPECT_EQ(kernel->in_place, 0);
}

// The guide lists operators that are not element by element, these and no others.
TEST(GuideTest, HasTheOperatorsThatThereAreKernelsFor) {
  std::ifstream file(test::source_dir() / "docs/cuda.md");
  std::set<std::string> listed, known;
  for (std::string line; std::getline(file, line) && !line.starts_with("## What is promised");) {
    if (!line.starts_with("| ")) continue;
    const std::regex operators("`([A-Z][A-Za-z0-9]+)`");
    for (std::sregex_iterator at(line.begin(), line.end(), operators), end; at != end; ++at)
      listed.insert((*at)[1]);
  }
  for (const auto& [domain, op] : KernelRegistry::instance().operators()) {
    const auto* def = ops::OpRegistry::instance().find(domain, op);
    const bool is_pointwise = def != nullptr && (def->traits & ops::kPointwise) != 0;
    if (!is_pointwise && !op.starts_with("Group/")) known.insert(op);
  }
  EXPECT_EQ(listed, known);
}

// Sizes are parameters: one program serves all whose rows are whole packs, another all others.
TEST_F(KernelTest, OtherSizesAreTheSameProgram) {
  const auto of = [&](int rows, int columns) {
    return make(fmt::format("%a: f32[{0},{1}], %b: f32[{1}]", rows, columns),
                fmt::format("%y: f32[{},{}] = Mul(%a, %b)", rows, columns));
  };
  const std::string packs = of(3, 40)->sources()[0].body, elements = of(7, 99)->sources()[0].body;
  EXPECT_EQ(of(70, 400)->sources()[0].body, packs);
  EXPECT_EQ(of(5, 3)->sources()[0].body, elements);
  EXPECT_NE(packs, elements);
  EXPECT_NE(of(3, 40)->grids(), of(999, 40)->grids());
}

TEST_F(KernelTest, FunctionsSayThatTheyAreNotRoundedCorrectly) {
  EXPECT_TRUE(make("%a: f32[8]", "%y: f32[8] = Exp(%a)")->contract.approximate);
  EXPECT_FALSE(make("%a: f32[8]", "%y: f32[8] = Sqrt(%a)")->contract.approximate);
  EXPECT_FALSE(make("%a: f64[8]", "%y: f64[8] = Sin(%a)")->contract.approximate);
}

TEST_F(KernelTest, SumsAreKeptAsTheContractSays) {
  const auto product = make("%a: f16[3,40], %b: f16[40,5]", "%y: f16[3,5] = MatMul(%a, %b)");
  EXPECT_EQ(product->contract.accumulated, ElementType::kFloat);
  EXPECT_EQ(product->contract.order, NumericsContract::Order::kSequential);
  EXPECT_FALSE(product->contract.operands.is_defined());
  EXPECT_THAT(product->sources()[0].body, HasSubstr("#define ACC f32"));
  const auto mean = make("%a: f32[3,400]", "%y: f32[3] = ReduceMean(%a, %axes) {keepdims=0}",
                         "const %axes = i64[1] hex\"0100000000000000\"");
  EXPECT_EQ(mean->contract.accumulated, ElementType::kDouble);
  EXPECT_THAT(mean->sources()[0].body, HasSubstr("#define ACC f64"));
}

TEST_F(KernelTest, WhatIsKnownOnlyWhenItRunsIsLeftToTheCpu) {
  EXPECT_EQ(make("%a: f32[3,40], %n: i64[1]", "%y: f32[3] = ReduceMean(%a, %n) {keepdims=0}"), nullptr);
  EXPECT_EQ(reason_, "the axes are known only when it runs");
  EXPECT_EQ(make("%a: f32[3,40]", "%y: f32[3,40] = RandomNormalLike(%a)"), nullptr);
  EXPECT_EQ(reason_, "the CUDA backend has no kernel for it");
}

// A type that a kernel does not know is refused by name, and never computed as something else.
TEST_F(KernelTest, TypesThatProgramsDoNotKnowAreRefused) {
  EXPECT_EQ(make("%a: f8e5m2[8]", "%y: f32[8] = Cast(%a) {to=1}"), nullptr);
  EXPECT_THAT(reason_, HasSubstr("f8e5m2"));
  EXPECT_EQ(make("%a: i64[8]", "%y: f16[8] = Cast(%a) {to=10}"), nullptr);
  EXPECT_THAT(reason_, HasSubstr("64-bit integers"));
}

TEST_F(KernelTest, AKernelLaunchesOnItsOperands) {
  const DriverApi api = reset_fake_driver();
  const Context context(api, 0);
  CudaDevice device(context);
  static const NvrtcApi compiles_nothing = [] {
    NvrtcApi all;
    all.create = [](ProgramHandle*, const char*, const char*, int, const char* const*, const char* const*) {
      return 0;
    };
    all.destroy = [](ProgramHandle*) { return 0; };
    all.compile = [](ProgramHandle, int, const char* const*) { return 0; };
    all.cubin_size = [](ProgramHandle, size_t* size) { return *size = 4, 0; };
    all.cubin = [](ProgramHandle, char*) { return 0; };
    return all;
  }();
  const Compiler compiler(compiles_nothing, "sm_90a");
  ProgramStore programs(context, compiler);
  const auto kernel = make("%a: f32[30,40]", "%y: f32[40,30] = Transpose(%a) {perm=ints[1, 0]}");
  kernel->install(device, programs);
  EXPECT_TRUE(kernel->reads(0));
  EXPECT_FALSE(kernel->is_prepared());
  CudaStream stream(device);
  const auto from = device.allocate(4800), to = device.allocate(4800);
  const void* inputs[] = {from->address()};
  void* outputs[] = {to->address()};
  fake_driver().calls.clear();
  for (int run = 0; run < 2; ++run) kernel->run({inputs, outputs, nullptr, &stream});
  EXPECT_THAT(fake_driver().calls, ElementsAre("launch 2x1x1 of 256", "launch 2x1x1 of 256"));
  EXPECT_EQ(fake_driver().loaded, 1U);  // it is compiled once
  const auto twin = make("%a: f32[80,70]", "%y: f32[70,80] = Transpose(%a) {perm=ints[1, 0]}");
  twin->install(device, programs);
  twin->prepare();
  EXPECT_EQ(fake_driver().loaded, 1U);  // for other sizes, too
}

}  // namespace
}  // namespace vernier::cuda
