// Parts of plain tensors that lie together in memory: what Split, Slice and Gather cut out without a copy,
// and Concat puts together.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/ir/graph.h"

namespace vernier {

// For every output of a Split, Slice or Gather (of one index) how many elements of input 0 lie before it, if
// each output is one run of them, and sizes and limits are known.
std::optional<std::vector<int64_t>> part_offsets(const Node& node);

// Whether a part that begins so many bytes into a tensor can be read where it lies: on accelerators kernels
// and libraries read 16 bytes at a time.
inline bool serves_where_it_lies(int device, size_t bytes) {
  constexpr size_t kPack = 16;
  return device == kHost || bytes % kPack == 0;
}

// Whether the node is a Concat whose inputs lie one behind the other in its output; sizes are known.
bool lies_in_parts(const Node& node);

}  // namespace vernier
