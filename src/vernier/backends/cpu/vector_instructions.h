// The instructions on vectors (AVX-512), by the names of <immintrin.h>, which kernels include by this header
// only. With VERNIER_EMULATED_INSTRUCTIONS they are software that any processor with AVX2 executes, and
// sanitizers see which memory they touch.
//
// A function that uses them is marked with VERNIER_TARGET and what it uses, "avx512f,avx512bw". Kernels are
// in the namespace vernier::cpu, in which the emulated functions hide those of the compiler. What is not
// emulated does not compile: the compiler's own functions need a target that no function has then.
#pragma once

#include <immintrin.h>

#ifndef VERNIER_EMULATED_INSTRUCTIONS

#define VERNIER_TARGET(instructions) __attribute__((target(instructions)))

namespace vernier::cpu {

constexpr bool kInstructionsAreEmulated = false;

}  // namespace vernier::cpu

#else

#define VERNIER_TARGET(instructions) __attribute__((target("avx2,fma")))

namespace vernier::cpu {

constexpr bool kInstructionsAreEmulated = true;

}  // namespace vernier::cpu

// Vectors of 64 bytes are passed in memory where there is no AVX-512. All who pass them here do it alike.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "vernier/backends/cpu/emulation/arithmetic.h"
#include "vernier/backends/cpu/emulation/conversions.h"
#include "vernier/backends/cpu/emulation/memory.h"
#include "vernier/backends/cpu/emulation/shuffles.h"

namespace vernier::cpu {

using namespace emulated;

}  // namespace vernier::cpu

#endif

// g++ 12 takes the undefined vectors of its own header for a mistake of ours.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
