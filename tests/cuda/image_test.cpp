// Tests what kernels make of images that lie channels last, beside others, against the reference.
#include "cuda/reference_comparison.h"
#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/backends/cuda/pointwise/layouts.h"

namespace vernier::cuda {
namespace {

// Images that lie channels last, beside others.
class LayoutTest : public testing::TestWithParam<Case> {};

TEST_P(LayoutTest, PointwiseKernelsTakeImagesAsTheyLie) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Case each = GetParam();
  each.lay_out = [](KernelRequest& request) {
    request.inputs[0]->layout = Layout::kChannelsLast;
    lay_out_pointwise(request);
    return request.out().layout ==
           (request.in(0).dims == request.out().dims ? Layout::kChannelsLast : Layout::kPlain);
  };
  expect_reference(each, gpu, Context(gpu.driver, 0));
}

INSTANTIATE_TEST_SUITE_P(
    Images, LayoutTest,
    testing::Values(Case{"%a: f16[2,3,4,5]", "%y: f16[2,3,4,5] = Relu(%a)"},
                    Case{"%a: f32[2,3,4,5], %b: f32[2,3,4,5]", "%y: f32[2,3,4,5] = Sub(%a, %b)"},
                    Case{"%a: f16[2,3,4,5], %b: f16[3,1,1]", "%y: f16[2,3,4,5] = Mul(%a, %b)"},
                    Case{"%a: f32[2,3,1,5], %b: f32[2,3,4,5]", "%y: f32[2,3,4,5] = Sub(%a, %b)"},
                    Case{"%a: f32[2,3,6], %b: f32[6]", "%y: f32[2,3,6] = Sub(%a, %b)"},
                    Case{"%a: f32[2,3,2,2,3], %b: f32[]", "%y: f32[2,3,2,2,3] = Div(%a, %b)"}));

// Pools and reductions of images that lie channels last, as their registry lays them out.
class ImageTest : public testing::TestWithParam<Case> {};

TEST_P(ImageTest, ResultsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Case each = GetParam();
  each.lay_out = [](KernelRequest& request) {
    request.inputs[0]->layout = Layout::kChannelsLast;
    KernelRegistry::instance().lay_out(request.node)(request);
    return request.in(0).layout == Layout::kChannelsLast &&
           (request.out().rank() < 3 || request.out().layout == Layout::kChannelsLast);
  };
  expect_reference(each, gpu, Context(gpu.driver, 0));
}

const std::string kPlanes = "const %x = i64[2] hex\"02000000000000000300000000000000\"";

INSTANTIATE_TEST_SUITE_P(
    Images, ImageTest,
    testing::Values(
        Case{"%a: f16[2,16,7,6]",
             "%y: f16[2,16,3,3] = MaxPool(%a) {kernel_shape=ints[3, 2], strides=ints[2, 2], pads=ints[1, 0, "
             "0, 0]}"},
        Case{"%a: i8[1,3,9]", "%y: i8[1,3,4] = MaxPool(%a) {kernel_shape=ints[3], strides=ints[2]}"},
        Case{"%a: bf16[1,12,6,7]",
             "%y: bf16[1,12,6,7] = AveragePool(%a) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]}"},
        Case{"%a: f32[2,4,6,7]",
             "%y: f32[2,4,6,7] = AveragePool(%a) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1], "
             "count_include_pad=1}"},
        // Too many taps to be unrolled.
        Case{"%a: f16[1,4,12,12]", "%y: f16[1,4,3,3] = LpPool(%a) {kernel_shape=ints[10, 10], p=2}"},
        Case{"%a: f16[2,40,9,8]", "%y: f16[2,40,1,1] = GlobalAveragePool(%a)"},
        Case{"%a: f16[3,10,8,8]", "%y: f16[3,10] = ReduceMean(%a, %x) {keepdims=0}", kPlanes},
        // A block makes two results, and the last block one.
        Case{"%a: f32[1,521,8,8]", "%y: f32[1,521,1,1] = ReduceLogSumExp(%a, %x)", kPlanes},
        Case{"%a: f32[2,5,3,4]", "%y: f32[2,1,3,4] = ReduceMax(%a, %x)",
             "const %x = i64[1] hex\"0100000000000000\""},
        Case{"%a: f32[2,5,3,70]", "%y: f32[2,5,3,1] = ReduceSum(%a, %x)",
             "const %x = i64[1] hex\"0300000000000000\""}));

// A kernel that cannot write its results so reads and writes plain images.
TEST(ImageLayoutTest, ImagesAreMadePlainWhereResultsWouldLieInAnotherOrder) {
  for (const auto& [line, constant] :
       {std::pair("%y: f32[2,5,3] = ReduceSum(%a, %x) {keepdims=0}",
                  "const %x = i64[1] hex\"0300000000000000\""),
        std::pair("%y: f32[2,5,2,3], %i: i64[2,5,2,3] = MaxPool(%a) {kernel_shape=ints[2, 2]}", "")}) {
    const Model model = one_node("%a: f32[2,5,3,4]", line, constant);
    KernelRequest request = *known_request(*model.graph->nodes().back());
    request.inputs[0]->layout = Layout::kChannelsLast;
    KernelRegistry::instance().lay_out(request.node)(request);
    EXPECT_EQ(request.in(0).layout, Layout::kPlain) << line;
    EXPECT_EQ(request.out().layout, Layout::kPlain) << line;
    std::string reason;
    EXPECT_NE(make_own_kernel(request, reason), nullptr) << reason;
  }
}

class DepthwiseTest : public testing::TestWithParam<Case> {};

TEST_P(DepthwiseTest, ConvolutionsOfSingleChannelsAreWhatTheReferenceComputes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Case each = GetParam();
  each.lay_out = lay_out_convolution;
  expect_reference(each, gpu, Context(gpu.driver, 0), {},
                   [](const CudaKernel& kernel) { EXPECT_EQ(kernel.name, "cuda:depthwise"); });
}

const std::string
    kWindows = "%c: f16[2,8,4,5] = Conv(%x, %w, %b) {group=8, strides=ints[2, 1], pads=ints[1, 0, 1, 2]}",
    kEight = "%x: f16[2,8,8,5], %w: f16[8,1,3,3], %b: f16[8]";

INSTANTIATE_TEST_SUITE_P(
    Channels, DepthwiseTest,
    testing::Values(
        Case{kEight, "%y" + kWindows.substr(2)},
        Case{"%x: bf16[1,3,6,6], %w: bf16[3,1,3,2]",
             "%y: bf16[1,3,4,3] = Conv(%x, %w) {group=3, dilations=ints[1, 3]}"},
        Case{"%x: f16[1,6,9], %w: f16[6,1,3]", "%y: f16[1,6,7] = Conv(%x, %w) {group=6}"},
        Case{"%x: f16[1,2,2,3]", "%y: f16[1,2,2,2] = Conv(%x, %w) {group=2}",
             "const %w = f16[2,1,1,2] hex\"0000003c00400042\""},
        // Large enough for threads that make several places each.
        Case{"%x: f16[16,1024,9,18], %w: f16[1024,1,1,3], %b: f16[1024]",
             "%y: f16[16,1024,9,18] = Conv(%x, %w, %b) {group=1024, pads=ints[0, 1, 0, 1]}"},
        Case{"%x: f16[16,1024,8,37], %w: f16[1024,1,3,3]",
             "%y: f16[16,1024,8,18] = Conv(%x, %w) {group=1024, strides=ints[1, 2], pads=ints[1, 0, 1, 0]}"},
        // An infinite tap meets zeros of the padding.
        Case{"%x: f16[1,2,2,3]", "%y: f16[1,2,2,4] = Conv(%x, %w) {group=2, pads=ints[0, 1, 0, 1]}",
             "const %w = f16[2,1,1,2] hex\"007c003c00400042\""},
        Case{kEight, kWindows, "", {}, {"%y: f16[2,8,4,5] = Relu(%c)"}, "conv"},
        Case{kEight, kWindows, "", {}, {"%y: f16[2,8,4,5] = HardSwish(%c)"}, "conv"},
        Case{kEight, kWindows, "", {}, {"%y: f16[2,8,4,5] = Swish(%c) {alpha = float 1.5}"}, "conv"},
        Case{"%x: f16[1,6,12,12], %w: f16[6,1,10,9]",
             "%y: f16[1,6,5,6] = Conv(%x, %w) {group=6, pads=ints[1, 1, 1, 1]}"},
        // Rows of the image end within a tile, and channels fill several.
        Case{"%x: bf16[1,160,11,13], %w: bf16[160,1,5,5], %b: bf16[160]",
             "%y: bf16[1,160,11,13] = Conv(%x, %w, %b) {group=160, pads=ints[2, 2, 2, 2]}"},
        Case{kEight,
             kWindows,
             "const %l = f16[] hex\"0000\"\nconst %h = f16[] hex\"0046\"",
             {},
             {"%y: f16[2,8,4,5] = Clip(%c, %l, %h)"},
             "conv"}));

// From each layout to the other, and what was one image is the same image.
TEST(ReorderTest, ImagesAreLaidOutAnew) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  const Context context(gpu.driver, 0);
  CudaDevice device(context);
  const Compiler compiler(gpu.nvrtc, "sm_90a");
  ProgramStore programs(context, compiler);
  std::mt19937 random(5);
  for (const Dims& dims : {Dims{2, 3, 4, 5}, Dims{1, 33, 17, 2}, Dims{2, 3, 5}, Dims{1, 2, 3, 2, 3}}) {
    for (const Layout from : {Layout::kPlain, Layout::kChannelsLast}) {
      const Operand source{ElementType::kFloat16, dims, from},
          target{ElementType::kFloat16, dims,
                 from == Layout::kPlain ? Layout::kChannelsLast : Layout::kPlain};
      const Tensor image = drawn(source, random);
      const Tensor lies = arranged(image, source), expected = arranged(image, target);
      const auto kernel = make_reorder(source, target.layout);
      kernel->install(device, programs);
      const auto x = device.allocate(lies.byte_size()), y = device.allocate(lies.byte_size());
      CudaStream stream(device);
      stream.copy(lies.raw(), x->address(), lies.byte_size());
      const void* inputs[] = {x->address()};
      void* outputs[] = {y->address()};
      kernel->run({inputs, outputs, nullptr, &stream});
      stream.wait_on_host(stream.record());
      EXPECT_EQ(std::memcmp(y->address(), expected.raw(), expected.byte_size()), 0) << dims_text(dims);
    }
  }
  EXPECT_THROW(make_reorder({ElementType::kFloat, {1, 16, 2, 2}, Layout::kPlain}, Layout::kBlocked16), Error);
}

}  // namespace
}  // namespace vernier::cuda
