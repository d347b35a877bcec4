// The one place that says what the processor can do, and the limit on it.
#include "vernier/backends/cpu/processor.h"

#include <gmock/gmock.h>
#include <hwy/highway.h>

#include <cstdlib>

#include "vernier/backends/cpu/cpu_backend.h"
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
  const bool is_native = has(Feature::kAvx512) && __builtin_cpu_supports("avx512f") != 0;
  EXPECT_TRUE(is_native || !has(Feature::kAvx512) || instructions_are_emulated());
  EXPECT_EQ((hwy::SupportedTargets() & better_than_avx2) != 0, is_native);
  EXPECT_THAT(instruction_sets(),
              testing::StartsWith(std::string(isa_level_name(isa_level())) + ": oneDNN "));
  const std::string described = instruction_sets().substr(instruction_sets().find(": "));
  EXPECT_EQ(described.find("avx512") == std::string::npos, !is_native);
  EXPECT_EQ(described.ends_with(", emulated"), instructions_are_emulated() && has(Feature::kAvx512));
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

TEST(Processor, EmulatedInstructionsAreNotLacking) {
  if (!instructions_are_emulated()) GTEST_SKIP() << "instructions are those of the processor";
  EXPECT_EQ(machine_isa_level(), IsaLevel::kAmx);
  for (const Feature feature : {Feature::kAvx512, Feature::kVnni, Feature::kBf16, Feature::kVbmi})
    EXPECT_EQ(has(feature), isa_level() >= IsaLevel::kAvx512) << feature_name(feature);
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
