// In which layout a plan keeps images: all that read each other share it, so whole plans are compared.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/tune/tuner.h"

namespace vernier {

// `make` gives the plan in a layout. Where no layout but the plain one occurs, or the options ask for no
// trials, there is one plan. Times are taken on drawn inputs.
std::shared_ptr<const Plan> choose_layout(
    const std::function<std::shared_ptr<const Plan>(Layout images)>& make, const KernelSource& kernels,
    TimingCache& cache, const TuneOptions& options);

}  // namespace vernier
