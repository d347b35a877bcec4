// The main program of tests that run at each level of instruction sets: the environment variable
// VERNIER_TEST_ISA ("avx2", "avx512", "amx") limits what the CPU backend uses, as --isa does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "vernier/backends/cpu/processor.h"
#include "vernier/base/error.h"

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
  return RUN_ALL_TESTS();
}
