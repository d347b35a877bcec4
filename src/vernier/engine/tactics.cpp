#include "vernier/engine/tactics.h"

#include "vernier/backends/cpu/environment.h"
#include "vernier/backends/cpu/parallel.h"

extern "C" int omp_pause_resource_all(int kind);

namespace vernier {

TuneOptions with_names(TuneOptions options) {
  if (!options.approximate) options.without.merge(cpu::approximate_tactics());
  return options;
}

KernelThreads kernel_threads() {
  constexpr int kSoft = 1;  // omp_pause_soft: data of an application's threads are kept
  return {omp_get_max_threads, omp_set_num_threads, [] { omp_pause_resource_all(kSoft); }};
}

}  // namespace vernier
