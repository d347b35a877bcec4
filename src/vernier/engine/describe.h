// An engine as people read of it.
#pragma once

#include "vernier/engine/engine.h"
#include "vernier/exec/replay/replay_store.h"

namespace vernier {

struct StepDescription {
  std::string kernel, reason;      // one of them is ""
  std::vector<std::string> nodes;  // of ONNX
  std::string contract;            // "" for a change of layout, and for a copy
  std::string device = "cpu";      // that does it
  std::string refusal = {};        // see Step
  // Bytes that a copy moves between devices; of a node that an accelerator refused, those that all copies
  // move which it is the reason of.
  size_t copied = 0;
};

std::vector<StepDescription> describe_steps(const Plan& plan);
// "onednn:jit:avx512_core", "copy to simulated"; "" for a step that gets its kernel, if any, when it runs.
std::string kernel_name(const Plan& plan, const Step& step);
// "117 of 120 steps in 2 replays; split by 'x' runs on the CPU: …": what a session of the plan has captured
// so far, what splits it, and what could not be; "" where no device captures.
std::string captures_text(const Plan& plan, const ReplayStore& replays);
// From one device to another; 0 for steps that are no copies.
size_t copied_bytes(const Plan& plan, const Step& step);
// "x f32[1, 3, 224, 224], mask i64[1, 128]"
std::string sizes_text(const Graph& graph, const std::vector<ValueType>& inputs);
// The types of the graph's inputs as these data have them; defaults for those that are left out. Throws what
// bind_inputs throws.
std::vector<ValueType> input_types(const Graph& graph, const NamedData& inputs);
size_t constant_bytes(const Graph& graph);

}  // namespace vernier
