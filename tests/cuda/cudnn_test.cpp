// Convolutions by cuDNN: what it is asked for, which of its engines are taken, and what comes out, without a
// GPU.
#include "cuda/reference_comparison.h"
#include "cuda/software_cudnn.h"
#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/base/error.h"

namespace vernier::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<int> kUnits = {kDnnTensorCores};  // notes of an engine

class CudnnTest : public testing::Test {
 protected:
  KernelRequest request(Model model) {
    model_ = std::move(model);
    return *known_request(*model_.graph->nodes().back());
  }
  std::optional<DnnConvolution> asked(const std::string& inputs, const std::string& line) {
    return dnn_convolution(request(one_node(inputs, line)), reason_);
  }
  std::unique_ptr<CudaKernel> make(Cudnn& cudnn, const std::string& inputs, const std::string& line,
                                   const std::string& constant = "") {
    return make_library_convolution(request(one_node(inputs, line, constant)), cudnn, reason_);
  }
  // Describes a Conv and these lines behind it.
  std::optional<DnnConvolution> group(const std::string& inputs, const std::vector<std::string>& lines) {
    return dnn_convolution(request(one_group(inputs, lines, "conv")), reason_);
  }

  DriverApi driver_ = reset_fake_driver();
  Model model_;
  std::string reason_;
};

const std::string kImage = "%x: f16[2,4,9,8], %w: f16[6,4,3,3]", kConv = "%y: f16[2,6,7,6] = Conv(%x, %w)";

TEST_F(CudnnTest, TensorsAreDescribedAsTheyLie) {
  const auto plain = asked(kImage, kConv);
  ASSERT_TRUE(plain) << reason_;
  EXPECT_EQ(plain->x, (DnnTensor{{2, 4, 9, 8}, {288, 72, 8, 1}}));
  EXPECT_EQ(plain->w, (DnnTensor{{6, 4, 3, 3}, {36, 9, 3, 1}}));
  KernelRequest images = request(one_node(kImage, kConv));
  ASSERT_TRUE(lay_out_convolution(images));
  EXPECT_EQ(images.in(0).layout, Layout::kChannelsLast);
  EXPECT_EQ(images.in(1).layout, Layout::kPlain);
  EXPECT_EQ(images.out().layout, Layout::kChannelsLast);
  const auto last = dnn_convolution(images, reason_);
  ASSERT_TRUE(last) << reason_;
  EXPECT_EQ(last->x, (DnnTensor{{2, 4, 9, 8}, {288, 1, 32, 4}}));
  EXPECT_EQ(last->w, (DnnTensor{{6, 4, 3, 3}, {36, 1, 12, 4}}));
  EXPECT_EQ(last->y, (DnnTensor{{2, 6, 7, 6}, {252, 1, 36, 6}}));
  images.outputs[0]->layout = Layout::kPlain;
  EXPECT_FALSE(dnn_convolution(images, reason_));
  EXPECT_THAT(reason_, HasSubstr("layouts"));
}

// The matrix units do not multiply floats.
TEST_F(CudnnTest, FloatsStayPlain) {
  KernelRequest images =
      request(one_node("%x: f32[2,4,9,8], %w: f32[6,4,3,3]", "%y: f32[2,6,7,6] = Conv(%x, %w)"));
  ASSERT_TRUE(lay_out_convolution(images));
  EXPECT_EQ(images.in(0).layout, Layout::kPlain);
  EXPECT_EQ(images.out().layout, Layout::kPlain);
}

TEST_F(CudnnTest, ASingleAxisGetsAnotherInFront) {
  const auto line = asked("%x: f32[2,4,9], %w: f32[6,2,3]",
                          "%y: f32[2,6,5] = Conv(%x, %w) {group=2, strides=ints[2], pads=ints[2, 0]}");
  ASSERT_TRUE(line) << reason_;
  EXPECT_EQ(line->x, (DnnTensor{{2, 4, 1, 9}, {36, 9, 9, 1}}));
  EXPECT_EQ(line->w.sizes, (std::vector<int64_t>{6, 2, 1, 3}));
  ASSERT_EQ(line->axes.size(), 2U);
  EXPECT_EQ(line->axes[0].stride, 1);
  EXPECT_EQ(line->axes[1].stride, 2);
  EXPECT_EQ(line->axes[1].pad_begin, 2);
  EXPECT_EQ(line->axes[1].pad_end, 0);
}

// Rows of 16 bits are pixels: the addend is added before they are rounded.
TEST_F(CudnnTest, ProductsWithAnAddendForEachColumnAreConvolutions) {
  const std::string factors = "%a: f16[3,5], %b: f16[7,5], %c: f16[7]";
  const auto product = asked(factors, "%y: f16[3,7] = Gemm(%a, %b, %c) {transB=1}");
  ASSERT_TRUE(product) << reason_;
  EXPECT_EQ(product->x, (DnnTensor{{1, 5, 3, 1}, {15, 1, 5, 5}}));
  EXPECT_EQ(product->w, (DnnTensor{{7, 5, 1, 1}, {5, 1, 5, 5}}));
  EXPECT_EQ(product->y, (DnnTensor{{1, 7, 3, 1}, {21, 1, 7, 7}}));
  EXPECT_FALSE(product->turns_weights);
  EXPECT_FALSE(asked(factors, "%y: f16[3,7] = Gemm(%a, %b, %c) {transB=1, alpha = float 0.5}"));
  EXPECT_FALSE(asked("%a: f16[3,5], %b: f16[7,5]", "%y: f16[3,7] = Gemm(%a, %b) {transB=1}"));
  EXPECT_FALSE(
      asked("%a: f16[3,5], %b: f16[7,5], %c: f16[3,1]", "%y: f16[3,7] = Gemm(%a, %b, %c) {transB=1}"));
  EXPECT_FALSE(asked("%a: f32[3,5], %b: f32[7,5], %c: f32[7]", "%y: f32[3,7] = Gemm(%a, %b, %c) {transB=1}"));
  EXPECT_THAT(reason_, HasSubstr("16 bits"));
}

TEST_F(CudnnTest, WhatIsNoSuchConvolutionIsLeft) {
  EXPECT_FALSE(asked("%x: f64[2,4,9,8], %w: f64[6,4,3,3]", "%y: f64[2,6,7,6] = Conv(%x, %w)"));
  EXPECT_THAT(reason_, HasSubstr("f64"));
  EXPECT_FALSE(asked("%a: f16[3,5], %b: f16[5,7]", "%y: f16[3,7] = MatMul(%a, %b)"));
  EXPECT_THAT(reason_, HasSubstr("convolutions and products only"));
  EXPECT_FALSE(asked("%x: f16[2,0,9,8], %w: f16[6,0,3,3]", "%y: f16[2,6,7,6] = Conv(%x, %w)"));
}

TEST_F(CudnnTest, WhatFollowsIsAddedAndCutInTheOrderOfTheLibrary) {
  const std::string inputs = kImage + ", %b: f16[6], %r: f16[2,6,7,6]",
                    conv = "%c: f16[2,6,7,6] = Conv(%x, %w, %b)";
  const auto whole = group(inputs, {conv, "%s: f16[2,6,7,6] = Add(%r, %c)", "%y: f16[2,6,7,6] = Relu(%s)"});
  ASSERT_TRUE(whole) << reason_;
  EXPECT_TRUE(whole->bias_input && whole->residual_input && whole->relu);
  EXPECT_FALSE(whole->adds_zeros);
  EXPECT_FALSE(group(inputs, {conv, "%s: f16[2,6,7,6] = Relu(%c)", "%y: f16[2,6,7,6] = Add(%s, %r)"}));
  EXPECT_THAT(reason_, HasSubstr("no part of its kernel"));
  EXPECT_FALSE(group(inputs, {conv, "%y: f16[2,6,7,6] = Sigmoid(%c)"}));
  EXPECT_FALSE(group(inputs, {conv, "%s: f16[2,6,7,6] = Swish(%c)", "%y: f16[2,6,7,6] = Relu(%s)"}));
  EXPECT_FALSE(group(kImage + ", %r: f16[6,1,1]",
                     {"%c: f16[2,6,7,6] = Conv(%x, %w)", "%y: f16[2,6,7,6] = Add(%c, %r)"}));
  // No plan cuts what nothing was added to.
  const auto cut = group(kImage, {"%c: f16[2,6,7,6] = Conv(%x, %w)", "%y: f16[2,6,7,6] = Relu(%c)"});
  ASSERT_TRUE(cut) << reason_;
  EXPECT_TRUE(cut->adds_zeros);
}

// Whether each node of these can follow the ones before it.
std::vector<bool> follows(const std::string& inputs, const std::vector<std::string>& lines,
                          const std::string& constant = "") {
  const Model model = nodes(inputs, lines, constant);
  const Node* anchor = nullptr;
  const Node* before = nullptr;
  std::vector<bool> all;
  for (const auto& node : model.graph->nodes()) {
    if (node->op == "Conv")
      anchor = node.get();
    else if (before != nullptr)
      all.push_back(can_follow_convolution(*anchor, *node, *before->output(0)));
    if (anchor != nullptr) before = node.get();
  }
  return all;
}

TEST_F(CudnnTest, GroupsAreMadeOfWhatThereArePlansFor) {
  const std::string inputs = kImage + ", %r: f16[2,6,7,6], %k: f16[6,1,1]",
                    conv = "%c: f16[2,6,7,6] = Conv(%x, %w)", add = "%s: f16[2,6,7,6] = Add(%c, %r)";
  EXPECT_THAT(follows(inputs, {conv, add, "%y: f16[2,6,7,6] = Relu(%s)"}), ElementsAre(true, true));
  EXPECT_THAT(follows(inputs, {conv, "%s: f16[2,6,7,6] = Relu(%c)", "%y: f16[2,6,7,6] = Add(%s, %r)"}),
              ElementsAre(true, false));
  EXPECT_THAT(follows(inputs, {conv, add, "%y: f16[2,6,7,6] = Add(%s, %r)"}), ElementsAre(true, false));
  EXPECT_THAT(follows(inputs, {conv, "%y: f16[2,6,7,6] = Add(%c, %k)"}), ElementsAre(false));
  EXPECT_THAT(follows(inputs, {conv, "%y: f16[2,6,7,6] = Sigmoid(%c)"}), ElementsAre(false));
  const std::string bounds = "const %l = f16[] hex\"0000\"\nconst %h = f16[] hex\"0046\"",
                    clip = "%y: f16[2,6,7,6] = Clip(%c, %l, %h)";
  EXPECT_THAT(follows(kImage, {conv, clip}, bounds), ElementsAre(false));
  EXPECT_THAT(follows("%x: f16[2,6,9,8], %w: f16[6,1,3,3]",
                      {"%c: f16[2,6,7,6] = Conv(%x, %w) {group=6}", clip}, bounds),
              ElementsAre(true));
  // Only our own kernel computes it.
  const std::string swish = "%y: f16[2,6,7,6] = Swish(%c)";
  EXPECT_THAT(follows(kImage, {conv, swish}), ElementsAre(false));
  EXPECT_THAT(
      follows("%x: f16[2,6,9,8], %w: f16[6,1,3,3]", {"%c: f16[2,6,7,6] = Conv(%x, %w) {group=6}", swish}),
      ElementsAre(true));
}

TEST_F(CudnnTest, TheFirstEngineThatKeepsToTheContractIsTaken) {
  std::vector<SoftwareCudnn::Way> ways;
  for (const int note : {kDnnDownConvertsInputs, kDnnReducedPrecision, kDnnFft, kDnnNondeterministic,
                         kDnnWinograd, kDnnWinograd4, kDnnWinograd6, kDnnWinograd13})
    ways.push_back({{kDnnTensorCores, note}});
  ways.push_back({kUnits, {kDnnCompilesAtRunTime}});
  ways.push_back({kUnits, {}, 0, false});
  ways.push_back({kUnits, {}, 4096});
  ways.push_back({kUnits});
  OpenedCudnn dnn(driver_, ways);
  const auto kernel = make(dnn.cudnn, kImage, kConv);
  ASSERT_NE(kernel, nullptr) << reason_;
  SoftwareCudnn& library = software_cudnn();
  EXPECT_THAT(library.planned, ElementsAre(10U));
  EXPECT_EQ(kernel->name, "cudnn:convolution");
  EXPECT_EQ(kernel->scratch_bytes, 4096U + 256U);
  EXPECT_EQ(kernel->contract, blocked_contract(ElementType::kFloat, ElementType::kFloat16));
  EXPECT_THAT(library.modes, ElementsAre(kDnnModeA));
  EXPECT_THAT(library.alignments, ElementsAre(16));
  // The same again: it is not planned anew.
  EXPECT_NE(make(dnn.cudnn, kImage, kConv), nullptr);
  EXPECT_EQ(library.planned.size(), 1U);
  EXPECT_NE(make(dnn.cudnn, kImage, "%y: f16[2,6,9,8] = Conv(%x, %w) {pads=ints[1, 1, 1, 1]}"), nullptr);
  EXPECT_EQ(library.planned.size(), 2U);
}

TEST_F(CudnnTest, EnginesThatKeepToTheContractAreTactics) {
  OpenedCudnn dnn(driver_, {{kUnits}, {{kDnnTensorCores, kDnnFft}}, {kUnits, {}, 4096}});
  KernelRequest asked = request(one_node(kImage, kConv));
  const auto tactics = library_convolution_tactics(asked, dnn.cudnn);
  ASSERT_EQ(tactics.size(), 2U);
  asked.tactic = tactics[1];
  const auto kernel = make_library_convolution(asked, dnn.cudnn, reason_);
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(software_cudnn().planned.back(), 2U);
  asked.tactic = "cudnn:engine77,configuration0";
  EXPECT_EQ(make_library_convolution(asked, dnn.cudnn, reason_), nullptr);
}

TEST_F(CudnnTest, NoPlanIsAskedForWhatOurOwnKernelComputes) {
  OpenedCudnn dnn(driver_, {{kUnits}});
  const KernelRequest both = request(
      one_group("%x: f16[2,6,9,8], %w: f16[6,1,3,3]",
                {"%c: f16[2,6,7,6] = Conv(%x, %w) {group=6}", "%y: f16[2,6,7,6] = Swish(%c)"}, "conv"));
  EXPECT_EQ(make_library_convolution(both, dnn.cudnn, reason_), nullptr);
  EXPECT_THAT(reason_, HasSubstr("no plan of cuDNN"));
  EXPECT_TRUE(library_convolution_tactics(both, dnn.cudnn).empty());
}

// Nothing is added, or float keeps the sums.
TEST_F(CudnnTest, SumsThatNothingIsAddedToMayLieAnywhere) {
  OpenedCudnn dnn(driver_, {{kUnits, {}, 4096, true, true}, {kUnits}});
  ASSERT_NE(make(dnn.cudnn, kImage, kConv), nullptr);
  EXPECT_EQ(software_cudnn().planned.back(), 0U);
  EXPECT_EQ(software_cudnn().runs, 0U);
}

TEST_F(CudnnTest, FloatsAreNeverMultipliedAsTf32WhereNobodyAskedForIt) {
  OpenedCudnn dnn(driver_);
  const std::string inputs = "%x: f32[2,4,9,8], %w: f32[6,4,3,3]", line = "%y: f32[2,6,7,6] = Conv(%x, %w)";
  EXPECT_EQ(make(dnn.cudnn, inputs, line), nullptr);
  EXPECT_THAT(reason_, HasSubstr("of 1 ways of cuDNN none serves"));
  EXPECT_THAT(software_cudnn().modes, ElementsAre(kDnnModeA, kDnnFallback));
}

const std::string kFloats = "%x: f32[2,4,9,8], %w: f32[6,4,3,3]",
                  kTf32 = "%y: f32[2,6,7,6] = Conv(%x, %w) {tf32=1}";

TEST_F(CudnnTest, FloatsAreMultipliedAsTf32WhereTheyMayBe) {
  OpenedCudnn dnn(driver_, {{}, {{kDnnTensorCores, kDnnDownConvertsInputs}}, {kUnits}, {kUnits}});
  KernelRequest asked = request(one_node(kFloats, kTf32));
  const std::vector<std::string> tactics = library_convolution_tactics(asked, dnn.cudnn);
  EXPECT_THAT(tactics, ElementsAre("cudnn:tf32,engine2,configuration0", "cudnn:tf32,engine3,configuration0",
                                   "cudnn:engine0,configuration0"));
  const auto kernel = make_library_convolution(asked, dnn.cudnn, reason_);
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->name, "cudnn:tf32");
  EXPECT_EQ(kernel->contract.text(), "computed f32, operands tf32, accumulated f32 blocked, stored f32");
  EXPECT_THAT(software_cudnn().planned, ElementsAre(2U));
  asked.tactic = tactics.back();
  const auto strict = make_library_convolution(asked, dnn.cudnn, reason_);
  ASSERT_NE(strict, nullptr) << reason_;
  EXPECT_EQ(strict->contract, blocked_contract(ElementType::kFloat, ElementType::kFloat));
}

TEST_F(CudnnTest, WithoutAnEngineForTf32ConvolutionsStayStrict) {
  OpenedCudnn dnn(driver_, {{}});
  const auto kernel = make(dnn.cudnn, kFloats, kTf32);
  ASSERT_NE(kernel, nullptr) << reason_;
  EXPECT_EQ(kernel->contract, blocked_contract(ElementType::kFloat, ElementType::kFloat));
}

// The text of a plan in an engine file does not say how it multiplies; the text of what was asked for does.
TEST_F(CudnnTest, APlanByTf32IsNoneOfAStrictConvolution) {
  const auto by_tf32 = asked(kFloats, kTf32);
  ASSERT_TRUE(by_tf32) << reason_;
  const auto strict = asked(kFloats, "%y: f32[2,6,7,6] = Conv(%x, %w)");
  EXPECT_NE(text_of(*by_tf32), text_of(*strict));
}

TEST_F(CudnnTest, ImagesForTf32LieChannelsLast) {
  KernelRequest images = request(one_node(kFloats, kTf32));
  ASSERT_TRUE(lay_out_convolution(images));
  EXPECT_EQ(images.in(0).layout, Layout::kChannelsLast);
  EXPECT_EQ(images.out().layout, Layout::kChannelsLast);
}

TEST_F(CudnnTest, WhatIsOnlyThereToFallBackToIsTakenLast) {
  OpenedCudnn dnn(driver_);
  software_cudnn().fallback = {{}};
  EXPECT_NE(make(dnn.cudnn, "%x: f32[2,4,9,8], %w: f32[6,4,3,3]", "%y: f32[2,6,7,6] = Conv(%x, %w)"), nullptr)
      << reason_;
  EXPECT_THAT(software_cudnn().planned, ElementsAre(1U));
}

// Without the library the generated kernel serves.
TEST_F(CudnnTest, AMissingLibraryLeavesConvolutionsToOwnKernels) {
  const Context context(driver_, 0);
  const CudnnLibrary library({"libcudnn.so.9", "", "", "cuDNN is nowhere"}, {});
  Cudnn cudnn(context, library);
  EXPECT_EQ(make(cudnn, kImage, kConv), nullptr);
  EXPECT_EQ(reason_, "cuDNN is nowhere");
  const auto kernel =
      make_cuda_kernel(*known_request(*model_.graph->nodes().back()), reason_, {nullptr, &cudnn});
  EXPECT_EQ(kernel->name, "cuda:convolution");
}

TEST_F(CudnnTest, ALibraryThatDoesNotServeTheGpuLeavesConvolutionsToOwnKernels) {
  OpenedCudnn dnn(driver_);
  software_cudnn().create = 1;
  EXPECT_EQ(make(dnn.cudnn, kImage, kConv), nullptr);
  EXPECT_THAT(reason_, HasSubstr("does not serve this GPU"));
  EXPECT_EQ(make(dnn.cudnn, kImage, kConv), nullptr);
  EXPECT_EQ(software_cudnn().handles, 1U);  // it was asked once
}

TEST_F(CudnnTest, WhatGoesWrongIsToldWhenTheHostWaits) {
  OpenedCudnn dnn(driver_);
  const auto kernel =
      make(dnn.cudnn, "%x: f16[1,1,2,2], %w: f16[1,1,1,1]", "%y: f16[1,1,2,2] = Conv(%x, %w)");
  ASSERT_NE(kernel, nullptr) << reason_;
  CudaDevice device(dnn.context);
  CudaStream stream(device);
  const auto memory = device.allocate(256);
  const void* inputs[] = {memory->address(), memory->address()};
  void* outputs[] = {memory->address()};
  software_cudnn().execute = 5000;
  kernel->run({inputs, outputs, nullptr, &stream});
  EXPECT_THROW(stream.wait_on_host(stream.record()), Error);
}

// Constant weights are laid out once, and lie on the device once for all kernels that have them.
TEST_F(CudnnTest, WeightsOfAnEngineAreOnTheDeviceOnce) {
  const SoftwareGpu gpu = reset_software_gpu();
  OpenedCudnn dnn(gpu.driver);
  const std::string weights = "const %w = f16[1,2,1,2] hex\"0000003c00400042\"",
                    line = "%y: f16[1,1,2,2] = Conv(%x, %w)";
  PackedConstants packed;
  CudaDevice device(dnn.context);
  const Compiler compiler(gpu.nvrtc, "sm_90a");
  ProgramStore programs(dnn.context, compiler);
  KernelRequest both = request(one_node("%x: f16[1,2,2,3]", line, weights));
  ASSERT_TRUE(lay_out_convolution(both));
  both.packed = &packed;
  std::vector<std::unique_ptr<CudaKernel>> kernels;
  for (int i = 0; i < 2; ++i) {
    kernels.push_back(make_library_convolution(both, dnn.cudnn, reason_));
    ASSERT_NE(kernels.back(), nullptr) << reason_;
    EXPECT_FALSE(kernels.back()->reads(1));
    kernels.back()->install(device, programs);
    kernels.back()->prepare();
  }
  const auto form = packed.forms().begin()->second;
  EXPECT_EQ(packed.forms().size(), 1U);
  EXPECT_EQ(device.resident(form).use_count(), 3);
  const auto* first = reinterpret_cast<const uint16_t*>(form->content().data());
  // Two pixels of eight channels, of which there are two.
  EXPECT_THAT(std::vector<uint16_t>(first, first + 16),
              ElementsAre(0x0000, 0x4000, 0, 0, 0, 0, 0, 0, 0x3c00, 0x4200, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace vernier::cuda
