// Runs each instruction on vectors that kernels use on some bytes: by the processor, and emulated.
#pragma once

#include <cstdint>
#include <span>

namespace vernier::cpu {

struct alignas(64) VectorInput {
  uint8_t a[64], b[64], c[64];
  uint64_t mask;
  const uint8_t* from;  // what masked loads read: a, or less where the mask allows it
};

struct alignas(64) CaseOutput {
  uint8_t bytes[64];
};

// How much of the output is compared.
enum class VectorResult : uint8_t {
  kBits,
  kFloats,      // bits, but any NaN will do
  kReciprocal,  // floats within 2^-14
  kSum,         // one float, in any order of 16
};

struct VectorCase {
  const char* name;
  VectorResult result;
  void (*run)(const VectorInput& input, uint8_t* output);
};

// In the same order. The processor's need avx512f, bw, dq, vl, vnni, bf16 and vbmi.
std::span<const VectorCase> native_vectors();
std::span<const VectorCase> emulated_vectors();

}  // namespace vernier::cpu
