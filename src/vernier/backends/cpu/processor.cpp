#include "vernier/backends/cpu/processor.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <hwy/highway.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <dnnl.hpp>

#include "vernier/backends/cpu/vector_instructions.h"
#include "vernier/base/error.h"

namespace vernier::cpu {

namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx};

bool has_avx512_core() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

// Linux gives a process tiles only when it asks for them.
bool is_granted_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool machine_has_tiles() {
  constexpr unsigned kLeaf = 7, kTiles = (1U << 22) | (1U << 24) | (1U << 25);  // AMX-BF16, -TILE, -INT8
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) != 0 && (d & kTiles) == kTiles && is_granted_tiles();
}

// Whether a limit can still be set.
std::atomic<bool> is_in_force{false};
std::atomic<IsaLevel> limit{IsaLevel::kAmx};

dnnl::cpu_isa effective_isa() {
  is_in_force = true;
  static const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa;
}

// Their numbers are sets of bits, and that of avx2_vnni is larger than some that include more.
bool includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}

bool has_tiles() {
  if (limit < IsaLevel::kAmx) return false;
  return includes(effective_isa(), dnnl::cpu_isa::avx512_core_amx) && is_granted_tiles();
}

std::string_view library_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41: return "sse41";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core: return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx: return "avx512_core_amx";
    default: return "other";
  }
}

}  // namespace

bool instructions_are_emulated() {
  return kInstructionsAreEmulated;
}

std::string_view isa_level_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAvx2: return "avx2";
    case IsaLevel::kAvx512: return "avx512";
    default: return "amx";
  }
}

IsaLevel parse_isa_level(std::string_view text) {
  for (const IsaLevel level : kLevels) {
    if (text == isa_level_name(level)) return level;
  }
  throw usage_error("the instruction sets '{}' are not avx2, avx512 or amx", text);
}

IsaLevel machine_isa_level() {
  if (instructions_are_emulated()) return IsaLevel::kAmx;
  static const IsaLevel level = !has_avx512_core()    ? IsaLevel::kAvx2
                                : machine_has_tiles() ? IsaLevel::kAmx
                                                      : IsaLevel::kAvx512;
  return level;
}

IsaLevel isa_level() {
  return has(Feature::kAmx) ? IsaLevel::kAmx : has(Feature::kAvx512) ? IsaLevel::kAvx512 : IsaLevel::kAvx2;
}

void limit_isa(IsaLevel level) {
  if (__builtin_cpu_supports("avx2") == 0) throw unsupported("this processor has no avx2");
  if (level > machine_isa_level())
    throw unsupported("this processor has no {}: its level is {}", isa_level_name(level),
                      isa_level_name(machine_isa_level()));
  if (is_in_force) throw internal_error("instruction sets can only be limited before they are asked for");
  limit = level;
  const dnnl::cpu_isa most = level == IsaLevel::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::avx512_core_bf16;
  if (level < IsaLevel::kAmx && dnnl::set_max_cpu_isa(most) != dnnl::status::success)
    throw internal_error("oneDNN was used before its instruction sets were limited");
  // Better targets have lower bits. Highway's DisableTargets would not do: SupportedTargets() forgets what
  // was disabled, for what is called next, when somebody calls it.
  if (level == IsaLevel::kAvx2)
    hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~static_cast<int64_t>(HWY_AVX2 - 1));
}

bool has(Feature feature) {
  const dnnl::cpu_isa isa = effective_isa();
  if (instructions_are_emulated())
    return limit >= (feature == Feature::kAmx ? IsaLevel::kAmx : IsaLevel::kAvx512);
  switch (feature) {
    case Feature::kAvx512: return includes(isa, dnnl::cpu_isa::avx512_core);
    case Feature::kVnni: return includes(isa, dnnl::cpu_isa::avx512_core_vnni);
    case Feature::kBf16: return includes(isa, dnnl::cpu_isa::avx512_core_bf16);
    case Feature::kVbmi: return has(Feature::kAvx512) && __builtin_cpu_supports("avx512vbmi") != 0;
    default: break;
  }
  static const bool tiles = has_tiles();
  return tiles;
}

std::string_view feature_name(Feature feature) {
  switch (feature) {
    case Feature::kAvx512: return "avx512f";
    case Feature::kVnni: return "avx512_vnni";
    case Feature::kBf16: return "avx512_bf16";
    case Feature::kVbmi: return "avx512_vbmi";
    default: return "amx_bf16";
  }
}

void require_avx2() {
  // A processor that has more has AVX2, too.
  if ((hwy::SupportedTargets() & HWY_AVX2) != 0) return;
  throw unsupported("the CPU engine needs a processor with AVX2 and FMA")
      .advise("run the model with --reference, which needs neither");
}

bool accumulates_int8_exactly() {
  return includes(effective_isa(), dnnl::cpu_isa::avx2_vnni) ||
         includes(effective_isa(), dnnl::cpu_isa::avx512_core_vnni);
}

std::string instruction_sets() {
  const int64_t supported = hwy::SupportedTargets();
  const bool is_emulated = instructions_are_emulated() && isa_level() > IsaLevel::kAvx2;
  return fmt::format("{}: oneDNN {} ({}), Highway {}{}", isa_level_name(isa_level()),
                     library_name(effective_isa()), static_cast<int>(effective_isa()),
                     hwy::TargetName(supported & -supported), is_emulated ? ", emulated" : "");
}

}  // namespace vernier::cpu
