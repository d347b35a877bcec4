// Tests by which plans of cuDNN something is added to sums of 16 bits.
#include "vernier/backends/cuda/cudnn/rounding_proof.h"

#include <gmock/gmock.h>

#include "cuda/graph_requests.h"
#include "cuda/software_cudnn.h"
#include "cuda/software_gpu.h"
#include "vernier/backends/cuda/cudnn/convolution.h"

namespace vernier::cuda {
namespace {

const std::vector<int> kUnits = {kDnnTensorCores};  // notes of an engine

// Each first way may keep sums in working memory; where it keeps them rounded, integers show it.
struct Addends {
  std::string inputs;
  std::vector<std::string> lines;
};

class AddendTest : public testing::TestWithParam<Addends> {};

TEST_P(AddendTest, PlansThatRoundSumsBeforeTheyAddAreLeftOut) {
  const auto& [inputs, lines] = GetParam();
  const Model model = lines.size() == 1 ? one_node(inputs, lines[0]) : one_group(inputs, lines, "conv");
  KernelRequest asked = *known_request(*model.graph->nodes().back());
  ASSERT_TRUE(lay_out_convolution(asked));
  const DriverApi driver = reset_fake_driver();
  std::string reason;
  for (const bool rounds : {true, false}) {
    OpenedCudnn dnn(driver, {{kUnits, {}, 4096, true, rounds}, {kUnits}});
    ASSERT_NE(make_library_convolution(asked, dnn.cudnn, reason), nullptr) << reason;
    EXPECT_EQ(software_cudnn().planned.back(), rounds ? 1U : 0U) << rounds;
    EXPECT_EQ(software_cudnn().runs, 1U);
    EXPECT_TRUE(software_cudnn().aligned);
  }
  OpenedCudnn none(driver, {{kUnits, {}, 4096, true, true}});
  EXPECT_EQ(make_library_convolution(asked, none.cudnn, reason), nullptr);
  EXPECT_THAT(reason, testing::HasSubstr("is not shown to round what it adds to once"));
}

INSTANTIATE_TEST_SUITE_P(
    Addends, AddendTest,
    testing::Values(
        Addends{"%x: f16[2,4,9,8], %w: f16[6,4,3,3], %b: f16[6]", {"%y: f16[2,6,7,6] = Conv(%x, %w, %b)"}},
        Addends{"%x: bf16[2,4,9,8], %w: bf16[6,4,3,3], %b: bf16[6]",
                {"%y: bf16[2,6,5,4] = Conv(%x, %w, %b) {strides=ints[2, 2], pads=ints[1, 1, 1, 1]}"}},
        Addends{"%x: f16[1,8,9,8], %w: f16[6,4,3,3], %b: f16[6], %r: f16[1,6,7,6]",
                {"%c: f16[1,6,7,6] = Conv(%x, %w, %b) {group=2}", "%s: f16[1,6,7,6] = Add(%r, %c)",
                 "%y: f16[1,6,7,6] = Relu(%s)"}},
        Addends{"%x: f16[1,4,5,4], %w: f16[40,4,1,1], %r: f16[1,40,5,4]",
                {"%c: f16[1,40,5,4] = Conv(%x, %w)", "%y: f16[1,40,5,4] = Add(%r, %c)"}},
        // More pixels, and elements, than there are numbers that do not repeat.
        Addends{"%x: f16[1,2,65,65], %w: f16[16,2,1,1], %r: f16[1,16,65,65]",
                {"%c: f16[1,16,65,65] = Conv(%x, %w)", "%y: f16[1,16,65,65] = Add(%c, %r)"}},
        Addends{"%x: f16[3,90], %w: f16[90,80], %b: f16[80]", {"%y: f16[3,80] = Gemm(%x, %w, %b)"}}));

TEST(RoundingProofTest, NothingIsProvenOfImagesThatLiePlain) {
  const Model model =
      one_node("%x: f16[2,4,9,8], %w: f16[6,4,3,3], %b: f16[6]", "%y: f16[2,6,7,6] = Conv(%x, %w, %b)");
  const KernelRequest asked = *known_request(*model.graph->nodes().back());
  const DriverApi driver = reset_fake_driver();
  OpenedCudnn dnn(driver, {{kUnits, {}, 4096}, {kUnits}});
  std::string reason;
  ASSERT_NE(make_library_convolution(asked, dnn.cudnn, reason), nullptr) << reason;
  EXPECT_EQ(software_cudnn().planned.back(), 1U);
  EXPECT_EQ(software_cudnn().runs, 0U);
}

TEST(RoundingProofTest, APlanThatDoesNotRunIsLeftOut) {
  const Model model =
      one_node("%x: f16[2,4,9,8], %w: f16[6,4,3,3], %b: f16[6]", "%y: f16[2,6,7,6] = Conv(%x, %w, %b)");
  KernelRequest asked = *known_request(*model.graph->nodes().back());
  ASSERT_TRUE(lay_out_convolution(asked));
  const DriverApi driver = reset_fake_driver();
  OpenedCudnn dnn(driver, {{kUnits, {}, 4096}, {kUnits}});
  software_cudnn().execute = 5000;
  std::string reason;
  ASSERT_NE(make_library_convolution(asked, dnn.cudnn, reason), nullptr) << reason;
  EXPECT_EQ(software_cudnn().planned.back(), 1U);
}

}  // namespace
}  // namespace vernier::cuda
