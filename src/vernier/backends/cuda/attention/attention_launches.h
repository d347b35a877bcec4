// The launches that attend: of programs on matrix units, from scores in shared memory, or for few queries.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/shared/attention/attention_plan.h"

namespace vernier::cuda {

// Holds where the operands of an attention begin, wherever they lie.
struct AttentionPlaces {
  using Place = CudaKernel::Place;
  // Names what tells how many keys of an entry count: INT64 numbers, at whose end the queries are; or INT32,
  // the index of the last key, where all keys are new if there are `longest` queries.
  enum class Counts : uint8_t { kNone, kNumbers, kLastKeys };

  Place q, k, v;
  std::optional<Place> mask = {}, padding = {}, counts = {}, sinks = {};
  Counts form = Counts::kNone;
  int64_t longest = 0;
  bool has_zero_sinks = false;  // one for each head, a score of 0
};

// Adds launches to `kernel`, whose contract they set. Of the plan the places of operands in memory and the
// attributes count: keys and values are those of `plan.k` and `plan.v`, all of them, and `past` rows of them
// come before the first query. False where a program has no room for so many keys.
bool add_attention(CudaKernel& kernel, const AttentionPlan& plan, const AttentionPlaces& places,
                   int64_t past);

}  // namespace vernier::cuda
