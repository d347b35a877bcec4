// The main program of tests that run at each level of instruction sets: the environment variable
// VERNIER_TEST_ISA ("avx2", "avx512", "amx") limits what the CPU backend uses, as --isa does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "vernier/backends/cpu/processor.h"
#include "vernier/base/error.h"

namespace {

using vernier::cpu::Feature;
using vernier::cpu::IsaLevel;

// Where instructions are emulated, none of the level in force is lacking. A test that is skipped for one was
// not reached by the emulation, which is a failure.
class NoneLacking : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.skipped() || !vernier::cpu::instructions_are_emulated()) return;
    const std::string message = result.message();
    const IsaLevel level = vernier::cpu::isa_level();
    if (level == IsaLevel::kAmx && message.find("and no tiles") != std::string::npos) return;
    for (const auto feature :
         {Feature::kAvx512, Feature::kVnni, Feature::kBf16, Feature::kVbmi, Feature::kAmx}) {
      const IsaLevel needed = feature == Feature::kAmx ? IsaLevel::kAmx : IsaLevel::kAvx512;
      if (level >= needed &&
          message.find(fmt::format("needs {}", vernier::cpu::feature_name(feature))) != std::string::npos) {
        std::cerr << "FAILED: skipped, although it is emulated: " << message << "\n";
        failed = true;
      }
    }
  }

  bool failed = false;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    // Before GoogleTest makes parameters of tests, some of which ask the processor.
    if (const char* level = std::getenv("VERNIER_TEST_ISA"); level != nullptr)
      vernier::cpu::limit_isa(vernier::cpu::parse_isa_level(level));
  } catch (const vernier::Error& error) {
    constexpr int kLacking = 77;  // as ctest and tests/isa/levels.py know it
    std::cerr << error.what() << "\n";
    return error.code() == vernier::ErrorCode::kUnsupported ? kLacking : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  auto* none_lacking = new NoneLacking;  // which GoogleTest deletes at the end of the process
  testing::UnitTest::GetInstance()->listeners().Append(none_lacking);
  const int status = RUN_ALL_TESTS();
  return none_lacking->failed ? 1 : status;
}
