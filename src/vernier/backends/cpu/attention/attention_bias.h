// What becomes of products of queries and keys before their softmax, and which keys a query may attend at
// all.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"

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
  // Scales, caps and masks the products with `keys` keys; gives the largest score, of which a NaN is larger
  // than all. `buffer` holds as many floats.
  float finish(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores,
               float* buffer) const;

  // Where the mask of these keys begins, in elements.
  int64_t mask_at(const ScorePlace& place) const;

 private:
  // What scales, caps and is added without a mask; gives the scale that is left to do.
  float prepare(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores) const;
  void add_padding(const int32_t* padding, const ScorePlace& place, int64_t keys, float* scores) const;

  AttentionPlan plan_;
};

}  // namespace vernier::cpu
