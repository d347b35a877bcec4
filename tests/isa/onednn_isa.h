// oneDNN computes by the processor's own instructions, whatever the build for sanitizers emulates.
#pragma once

#include <dnnl.hpp>

namespace vernier {

inline bool onednn_has(dnnl::cpu_isa isa) {
  const auto wanted = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace vernier
