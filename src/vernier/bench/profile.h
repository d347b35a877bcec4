// Where the time of a run goes, step by step.
#pragma once

#include "vernier/bench/roofline.h"
#include "vernier/engine/session.h"

namespace vernier {

struct StepTime {
  // "onednn:brgconv:avx512_core", or why there is none, and by what it was computed when it ran
  std::string kernel;
  std::vector<std::string> nodes;  // the ONNX nodes behind it; none for a change of layout
  double milliseconds = 0;         // median over the runs
  double fallback_ms = 0;          // of it, by the reference: all, or what regions of control flow run so
  std::optional<StepWork> work;    // nothing where sizes are known only when it runs, and
                                   // on accelerators, whose peaks are not measured
  // Steps in the regions of control flow, in the order in which they first ran, each with the time of all
  // trips.
  std::vector<StepTime> inside;
};

struct Profile {
  std::vector<StepTime> steps;  // in execution order
  double watched_ms = 0;        // median of whole runs with the clock read at each step
  double unwatched_ms = 0;      // and without, in turn with the others
};

Profile profile(Session& session, const NamedData& inputs, size_t runs);

// Measures the part of a run that reference semantics take, because there is no kernel. A node whose sizes
// only a run tells does not count if it got a kernel then, and control flow counts only what its regions run
// so.
struct FallbackTime {
  size_t steps = 0;
  double share = 0;                              // of the time of all steps, 0 to 1
  std::map<const Step*, double> without_kernel;  // ms of each step that has no kernel in its plan, one run
};
// Measures a few runs, or none where every step has a kernel.
FallbackTime fallback_time(Session& session, const NamedData& inputs);

}  // namespace vernier
