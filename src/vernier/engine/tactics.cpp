#include "vernier/engine/tactics.h"

#include "vernier/backends/installed/drivers.h"

namespace vernier {

TuneOptions with_names(TuneOptions options) {
  if (!options.approximate) options.without.merge(host_driver().approximate_tactics());
  return options;
}

}  // namespace vernier
