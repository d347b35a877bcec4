// The softmax of attention: scores of a block of queries become weights, block of keys by block of keys.
#pragma once

#include "vernier/backends/cpu/kernels/attention_bias.h"

namespace vernier::cpu {

inline constexpr int64_t kMaxQueryBlock = 36;

// The running maximum of a row's scores, and the sum of its weights below that.
struct RunningWeights {
  std::array<float, kMaxQueryBlock> top, sum;
};

class ScoreWeights {
 public:
  explicit ScoreWeights(const AttentionPlan& plan) : plan_(plan), bias_(plan) {}

  void begin(const KernelArguments& arguments, int64_t head, RunningWeights& running) const;
  // The keys that any of these queries may attend.
  KeyRange reach(const KernelArguments& arguments, int64_t entry, int64_t first_query, int64_t rows) const;
  // Turns the products of row `row` with `keys` keys into weights. Gives what the weights before are worth
  // now, in units of the new ones. `buffer` holds as many floats.
  float weigh(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores,
              float* buffer, int64_t row, RunningWeights& running) const;
  // The row of the result from its weighted values; `sums` is changed.
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, float* sums,
             float weight) const;

 private:
  AttentionPlan plan_;
  ScoreBias bias_;
};

}  // namespace vernier::cpu
