#undef VERNIER_EMULATED_INSTRUCTIONS
#define VERNIER_EMULATED_INSTRUCTIONS
#include "vector_cases-inl.h"

namespace vernier::cpu {

std::span<const VectorCase> emulated_vectors() {
  return kCases;
}

}  // namespace vernier::cpu
