// Tests what build and inspect say of devices.
#include <gmock/gmock.h>

#include "vernier/report/build_report.h"

namespace vernier {
namespace {

using testing::HasSubstr;
using testing::Not;

BuildReport::Step copy(const char* to, size_t bytes) {
  return {std::string("copy to ") + to, "", {}, "", "simulated", "", bytes};
}

TEST(DevicesText, OfTheCpuAloneThereIsNone) {
  EXPECT_EQ(devices_text({"x", {}}), "");
  EXPECT_EQ(devices_text({"x", {{"onednn:jit", "", {"conv"}, "f32"}, {"", "no kernel", {"odd"}, ""}}}), "");
}

TEST(DevicesText, CountsCopiesAndListsWhatWasRefused) {
  const BuildReport::Plan plan{"x",
                               {copy("simulated", 2000),
                                {"simulated:Relu", "", {"relu"}, "", "simulated"},
                                copy("cpu", 500),
                                {"onednn:jit", "", {"conv", "bias"}, "", "cpu", "it lacks Conv", 1500},
                                copy("simulated", 1000),
                                copy("cpu", 0)}};
  EXPECT_EQ(copies_of(plan).count, 4U);
  EXPECT_EQ(copies_of(plan).bytes, 3500U);
  const std::string text = devices_text(plan);
  EXPECT_THAT(text, HasSubstr("steps 1 on cpu, 1 on simulated; 4 copies between them move 3.5 kB in a run"));
  EXPECT_THAT(text, testing::ContainsRegex("conv, bias +onednn:jit +1.5 +it lacks Conv"));
  EXPECT_THAT(text, Not(HasSubstr("relu")));
}

TEST(DevicesText, WhatAllAcceleratorsRefuseIsListedWhereNothingRunsOnThem) {
  const std::string text = devices_text({"x", {{"", "no kernel", {"odd"}, "", "cpu", "it lacks Odd"}}});
  EXPECT_THAT(text, testing::ContainsRegex("odd +reference +0.0 +it lacks Odd"));
}

// The preferred accelerator refused it, another took it.
TEST(DevicesText, WhatAnotherAcceleratorTookIsNotLeftToTheCpu) {
  const std::string text =
      devices_text({"x", {{"second:Odd", "", {"odd"}, "", "second", "the first lacks Odd"}}});
  EXPECT_THAT(text, HasSubstr("steps 1 on second"));
  EXPECT_THAT(text, Not(HasSubstr("left to the CPU")));
}

}  // namespace
}  // namespace vernier
