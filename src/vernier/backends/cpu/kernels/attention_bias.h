// What is added to the scores of attention, and which keys a query may attend at all.
#pragma once

#include "vernier/backends/cpu/kernels/attention.h"

namespace vernier::cpu {

struct KeyRange {
  int64_t first, last;  // [first, last)
};

// Of a query and the first of some keys.
struct ScorePlace {
  int64_t entry, head, query, key;
};

class ScoreBias {
 public:
  explicit ScoreBias(const AttentionPlan& plan) : plan_(plan) {}

  KeyRange reach(const KernelArguments& arguments, int64_t entry, int64_t query) const;
  // Adds to the scores of `keys` keys; `buffer` holds as many floats.
  void add(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores,
           float* buffer) const;

 private:
  void add_mask(const void* from, const ScorePlace& place, int64_t keys, float* scores, float* buffer) const;
  void add_padding(const int32_t* padding, const ScorePlace& place, int64_t keys, float* scores) const;

  AttentionPlan plan_;
};

}  // namespace vernier::cpu
