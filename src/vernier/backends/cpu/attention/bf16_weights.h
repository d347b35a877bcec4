// The softmax of attention whose weights are multiplied as bfloat16: with an exponential of as many digits,
// and rounded where it is computed.
#pragma once

#include "vernier/backends/cpu/attention/attention_weights.h"

namespace vernier::cpu {

// Where they go: of a row, those of the next 32 keys lie `chunk` elements farther.
struct Bf16Rows {
  uint16_t* to;
  int64_t stride, chunk;
};

class Bf16Weights {
 public:
  explicit Bf16Weights(const AttentionPlan& plan);

  // As ScoreWeights.
  void weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
             RunningWeights& running, float* shrinks, const Bf16Rows& weights) const;
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, const float* sums,
             float weight) const;

 private:
  enum class Edit : uint8_t { kScale, kMask, kAny };  // kMask: a scale and a mask of bfloat16

  // The largest of the scores of a span of keys; `scale` is what is left to do with them.
  float finish(const KernelArguments& arguments, const ScorePlace& place, int64_t keys, float* scores,
               float* buffer, float& scale) const;

  AttentionPlan plan_;
  ScoreWeights weights_;
  Edit edit_;
};

}  // namespace vernier::cpu
