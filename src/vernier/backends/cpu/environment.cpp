#include "vernier/backends/cpu/environment.h"

#include <fmt/format.h>
#include <hwy/highway.h>

#include <dnnl.hpp>

#include "vernier/backends/cpu/tiles/tile_contraction.h"
#include "vernier/backends/cpu/tiles/tile_instructions.h"
#include "vernier/backends/cpu/tiles/vector_block.h"
#include "vernier/backends/cpu/tiles/winograd_convolution.h"

namespace vernier::cpu {

namespace {

std::string_view isa_name(dnnl::cpu_isa isa) {
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

std::string instruction_sets() {
  const int64_t supported = hwy::SupportedTargets();
  return fmt::format("{} ({}), {}{}", isa_name(dnnl::get_effective_cpu_isa()),
                     static_cast<int>(dnnl::get_effective_cpu_isa()), hwy::TargetName(supported & -supported),
                     kTilesAreEmulated ? ", emulated tiles" : "");
}

const std::set<std::string>& tactic_names() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all = {kTwoPieces,   kThreePieces, kOnePiece,   kByteTiles, kVectorProducts,
                                 kByteVectors, "depthwise",  "expansion", "phases",   "rows"};
    all.merge(approximate_tactics());
    return all;
  }();
  return names;
}

std::set<std::string> approximate_tactics() {
  return {"bf16x3", "winograd", kWinogradOfTwo, kWinogradOfFour};  // bf16x6 is as exact as sums of floats
}

std::string library_versions() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, Highway {}.{}.{}", version->major, version->minor, version->patch,
                     HWY_MAJOR, HWY_MINOR, HWY_PATCH);
}

}  // namespace vernier::cpu
