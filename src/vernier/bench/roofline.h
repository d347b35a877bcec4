// How near a step comes to what this machine can do: the roofline.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "vernier/exec/plan.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Measures the processor's tiles (AMX) where nothing holds them up.

// Operations a second of all threads, of operands in the nearest caches: random ones, since zeros take less
// power and so make the clock faster. Nothing for types that tiles do not multiply, and without tiles.
std::optional<double> tile_flops(ElementType type);

// Counts the work of a step, from the graph: each operand is read or written once.
struct StepWork {
  double flops = 0, bytes = 0;
  ElementType type = ElementType::kFloat;  // that is multiplied
  double products = 1;                     // of that type, for each that the model asks for
};

// Nothing where sizes are known only when it runs.
std::optional<StepWork> work_of(const Plan& plan, const Step& step);

// Holds what this machine does with the threads of the caller.
struct MachinePeak {
  std::map<ElementType, double>
      flops;  // a second: of a large product of matrices, or of tiles if they do more
  std::vector<std::pair<double, double>> bandwidths;  // bytes of an area that is copied; bytes a second

  // The bandwidth of the smallest area that holds so much: what is little stays in caches.
  double bandwidth(double bytes) const;
};

// Takes less than a second. Types that no kernel multiplies are left out.
MachinePeak measure_peak(const std::set<ElementType>& types);

struct Roofline {
  double floor_ms = 0;  // what the work would take at the peak
  bool memory = false;  // whether moving the bytes takes longer than computing
};

// Only moving counts for a type whose peak is not known.
Roofline roofline(const StepWork& work, const MachinePeak& peak);

}  // namespace vernier
