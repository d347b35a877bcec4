// Each node on what the engine itself saw there: so an error is found where it is made, and not where it
// arrives. One run of the reference, in which what the engine made takes the place of what the reference
// made, node by node.
#pragma once

#include <functional>

#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

struct SameInputCheck {
  std::vector<FlaggedNode> flagged_nodes;  // in execution order
  size_t nodes = 0;                        // that were checked
  bool is_whole = true;                    // else the time was over before the last node
  size_t not_kept = 0;                     // flagged nodes behind those that there was memory for
  std::vector<std::string>
      unchecked;  // "Loop 'body'": nodes whose results nobody shows, or that cannot be judged
};

struct SameInputOptions {
  // So many flagged nodes are kept, the first ones. What a fault does to later nodes is no fault of theirs,
  // so more are faults of their own.
  size_t most = 32;
  // Bytes that flagged nodes may take, what they read and made included. The first is kept whatever it takes.
  size_t most_bytes = SIZE_MAX;
  // Times its bound. The bound is one of random errors, and a network has millions of elements: among those
  // of real models healthy kernels have met 1.2 times it.
  double beyond = 3;
  std::function<bool()> is_over = nullptr;  // asked at every node
  // Nodes that need not be judged: what the engine made of them is taken as it is. Null: all are judged.
  std::function<bool(const Node&)> leaves_out = nullptr;
  // Whether a NaN may get lost where ONNX does not say what becomes of it: so it may where the outputs are
  // right.
  bool nan_may_vanish = false;
  // Called with every node that is no flagged node.
  std::function<void(const Node&)> is_sound = nullptr;
};

// `inputs` are those of the run that is shown.
SameInputCheck check_on_own_inputs(const EngineUnderTest& tested, const ShownRun& shown,
                                   const NamedData& inputs, const SameInputOptions& options = {});

// Loops feed back what they round. What they make of that no error model tells, so it is measured.

// Runs the reference with its roundings moved inside the nodes with bodies among the flagged nodes, on what
// the engine read there, and allows each of them the error that this makes of its results. Those that stay
// beyond so many bounds are flagged nodes still; others are removed, and returned. `given` are the inputs of
// the run.
std::vector<const Node*> excuse_feedback(const ShownRun& shown, const NamedData& given, double beyond,
                                         std::vector<FlaggedNode>& flagged_nodes);

}  // namespace vernier
