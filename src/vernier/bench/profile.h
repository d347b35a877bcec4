// Where the time of a run goes, step by step.
#pragma once

#include "vernier/bench/roofline.h"
#include "vernier/engine/session.h"

namespace vernier {

struct StepTime {
  std::string kernel;              // "onednn:brgconv:avx512_core", or why there is none
  std::vector<std::string> nodes;  // the ONNX nodes behind it; none for a change of layout
  double milliseconds = 0;         // median over the runs
  bool fallback = false;           // computed by the reference
  std::optional<StepWork> work;    // nothing where sizes are known only when it runs
};

struct Profile {
  std::vector<StepTime> steps;  // in execution order
  double watched_ms = 0;        // median of whole runs with the clock read at each step
  double unwatched_ms = 0;      // and without, in turn with the others
};

Profile profile(Session& session, const NamedData& inputs, size_t runs);

// What steps without a kernel, which run with their reference semantics, take of a run.
struct FallbackTime {
  size_t steps = 0;
  double share = 0;  // of the time of all steps, 0 to 1
};
// Of a few runs, which are left out where every step has a kernel.
FallbackTime fallback_time(Session& session, const NamedData& inputs);

}  // namespace vernier
