#include "vernier/engine/tactics.h"

#include "vernier/backends/cpu/environment.h"

namespace vernier {

TuneOptions with_names(TuneOptions options) {
  if (!options.approximate) options.without.merge(cpu::approximate_tactics());
  return options;
}

}  // namespace vernier
