// The one place that says what the processor can do, and the limit on it.
#include "vernier/backends/cpu/processor.h"

#include <gmock/gmock.h>
#include <hwy/highway.h>

#include <cstdlib>

#include "vernier/backends/cpu/cpu_kernels.h"
#include "vernier/base/error.h"

namespace vernier::cpu {
namespace {

TEST(Processor, LevelsHaveNames) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx})
    EXPECT_EQ(parse_isa_level(isa_level_name(level)), level);
  for (const char* wrong : {"", "AVX2", "avx", "avx2,avx512", "avx10"}) {
    try {
      parse_isa_level(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
    }
  }
}

// tests/isa/main.cpp has limited the level where VERNIER_TEST_ISA says so.
TEST(Processor, TheLimitIsInForceEverywhere) {
  const char* wanted = std::getenv("VERNIER_TEST_ISA");
  EXPECT_EQ(isa_level(), wanted == nullptr ? machine_isa_level() : parse_isa_level(wanted));
  EXPECT_EQ(has(Feature::kAvx512), isa_level() >= IsaLevel::kAvx512);
  EXPECT_EQ(has(Feature::kAmx), isa_level() == IsaLevel::kAmx);
  const int64_t better_than_avx2 = HWY_AVX2 - 1;
  EXPECT_EQ((hwy::SupportedTargets() & better_than_avx2) != 0, has(Feature::kAvx512));
  EXPECT_THAT(instruction_sets(),
              testing::StartsWith(std::string(isa_level_name(isa_level())) + ": oneDNN "));
  EXPECT_EQ(instruction_sets().find("avx512") == std::string::npos, !has(Feature::kAvx512));
}

TEST(Processor, InstructionsImplyEachOther) {
  const std::pair<Feature, Feature> implied[] = {{Feature::kAmx, Feature::kBf16},
                                                 {Feature::kBf16, Feature::kVnni},
                                                 {Feature::kVnni, Feature::kAvx512},
                                                 {Feature::kVbmi, Feature::kAvx512}};
  for (const auto& [feature, needed] : implied)
    EXPECT_TRUE(!has(feature) || has(needed)) << feature_name(feature);
  EXPECT_EQ(computes_bf16(), has(Feature::kBf16));
}

TEST(Processor, ALimitComesFirst) {
  EXPECT_NO_THROW(instruction_sets());
  try {
    limit_isa(IsaLevel::kAvx2);  // what was chosen by the level in force would stay
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

TEST(Processor, NoLimitBeyondTheMachine) {
  if (machine_isa_level() == IsaLevel::kAmx) GTEST_SKIP() << "needs a machine without amx_bf16";
  try {
    limit_isa(IsaLevel::kAmx);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("this processor has no amx"));
  }
}

}  // namespace
}  // namespace vernier::cpu
