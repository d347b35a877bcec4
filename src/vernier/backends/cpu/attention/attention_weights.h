// The softmax of attention: scores of a block of queries become weights, block of keys by block of keys.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"

namespace vernier::cpu {

// This file says what becomes of products of queries and keys before their softmax, and which keys a query
// may attend at all.
struct KeyRange {
  int64_t first, last;  // [first, last)
};

// Locates the score of a query and the first of some keys.
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
  // Scales, caps and adds all but a mask; gives the scale that is left to do.
  float prepare(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores) const;
  void add_padding(const int32_t* padding, const ScorePlace& place, int64_t keys, float* scores) const;

  AttentionPlan plan_;
};

inline constexpr int64_t kMaxQueryBlock = 36;

// The running maximum of a row's scores, and the sum of its weights below that.
struct RunningWeights {
  std::array<float, kMaxQueryBlock> top, sum;
};

// The scores of queries from `first` on with keys from there on, rows `stride` apart.
struct ScoreRows {
  ScorePlace first;
  int64_t count, keys, stride;

  ScorePlace row(int64_t index) const { return {first.entry, first.head, first.query + index, first.key}; }
};

class ScoreWeights {
 public:
  explicit ScoreWeights(const AttentionPlan& plan) : plan_(plan), bias_(plan) {}

  void begin(const KernelArguments& arguments, int64_t head, RunningWeights& running) const;
  // The keys that any of these queries may attend.
  KeyRange reach(const KernelArguments& arguments, int64_t entry, int64_t first_query, int64_t rows) const;
  // Turns products into weights. `shrinks` gives, for each row, what the weights before are worth now, in
  // units of the new ones. `buffer` holds as many floats as there are keys.
  void weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
             RunningWeights& running, float* shrinks) const;
  // Its parts, for those who weigh in another way. The keys of [place.key, place.key + keys) that the query
  // may attend, counted from place.key on.
  KeyRange span(const KernelArguments& arguments, const ScorePlace& place, int64_t keys) const;
  // Takes in the largest of some scores; false where all of their weights are 0.
  static bool raise(float largest, int64_t row, RunningWeights& running);
  // Takes in the sum of their weights; `before` was the maximum. Gives what weigh() gives.
  static float add(float sum, float before, int64_t row, RunningWeights& running);
  bool gives_zeros(float weight) const;  // a row whose weights sum to that
  const ScoreBias& bias() const { return bias_; }

  // The row of the result from its weighted values; `sums` is changed.
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, float* sums,
             float weight) const;

 private:
  float weigh(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores,
              float* buffer, int64_t row, RunningWeights& running) const;

  AttentionPlan plan_;
  ScoreBias bias_;
};

}  // namespace vernier::cpu
