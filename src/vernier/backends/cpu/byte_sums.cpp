#include <dnnl.hpp>

#include "vernier/backends/cpu/cpu_kernels.h"

namespace vernier::cpu {

bool sums_bytes_exactly() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx512_core: return false;
    default: return true;
  }
}

}  // namespace vernier::cpu
