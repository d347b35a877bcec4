// This file tells what the processor can do, within the limit that was set: it is the one place that kernels,
// passes, reports and tests ask. Nothing else of Vernier asks the processor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vernier::cpu {

// Whether AVX-512 and AMX are software in Vernier's own kernels (VERNIER_EMULATED_INSTRUCTIONS): every
// machine has all levels then. oneDNN and Highway use what the processor has, within the limit.
bool instructions_are_emulated();

// Levels of instruction sets, each with those before it. kAvx512 means whatever the machine has of AVX-512
// (VNNI, bf16, VBMI) but no tiles.
enum class IsaLevel : uint8_t { kAvx2, kAvx512, kAmx };

// "avx2", "avx512", "amx"
std::string_view isa_level_name(IsaLevel level);
// Throws usage_error for another text.
IsaLevel parse_isa_level(std::string_view text);

// The highest level that the machine has, whatever the limit is.
IsaLevel machine_isa_level();
// The level in force: that of the machine, or the limit. It decides from then on.
IsaLevel isa_level();

// From now on this process uses no more than `level`, nor do oneDNN and Highway. It is for tests, and for
// engines that are built for other machines. Throws unsupported if the machine lacks the level, and
// internal_error once a level is in force, because kernels may have been chosen by it.
void limit_isa(IsaLevel level);

// Instructions that kernels are written for.
enum class Feature : uint8_t {
  kAvx512,  // F, BW, DQ and VL
  kVnni,    // kAvx512, and products of four int8 accumulated in an int32
  kBf16,    // kVnni, and products of two bfloat16 accumulated in a float
  kVbmi,    // kAvx512, and permutations of bytes
  kAmx,     // kBf16, and tiles of bfloat16 and int8, which Linux must grant
};
bool has(Feature feature);
// As /proc/cpuinfo has it: "avx512_vnni".
std::string_view feature_name(Feature feature);

// Throws unsupported, with what to do, on a processor without AVX2 and FMA. What Highway makes of the vector
// loops for those breaks ONNX's rules for NaN and rounding, so there is no engine rather than a wrong one.
void require_avx2();

// Whether oneDNN accumulates int8 products exactly. Without VNNI it adds pairs of products in 16 bits, which
// saturate.
bool accumulates_int8_exactly();

// "amx: oneDNN avx512_core_amx (1007), Highway AVX3_ZEN4": equal for all machines that choose the same
// kernels. ", emulated" follows if kernels of Vernier emulate the level.
std::string instruction_sets();

}  // namespace vernier::cpu
