// The weights of recurrent operators, packed in panels (packed_product.h).
#pragma once

#include "vernier/backends/cpu/gemm/packed_product.h"
#include "vernier/backends/cpu/recurrent/recurrent_run.h"

namespace vernier::cpu {

// Holds the weights of one direction. A GRU that resets its state before the product takes two products.
struct DirectionWeights {
  PackedShape input, recurrent, candidate;
  int64_t hidden;

  explicit DirectionWeights(const RecurrentPlan& plan);
  int64_t recurrent_at() const { return input.size(); }
  int64_t candidate_at() const { return recurrent_at() + recurrent.size(); }
  int64_t bias_at() const { return candidate_at() + candidate.size(); }
  int64_t late_bias_at() const { return bias_at() + input.row_size(); }
  int64_t size() const { return late_bias_at() + hidden; }
};

// Floats that narrow weights are upcast to before they are packed.
int64_t wide_weights(const RecurrentPlan& plan);

// All directions, from W, R and B; no bias if that is null.
void pack_recurrent(const RecurrentPlan& plan, const void* w, const void* r, const void* b, float* wide,
                    float* packed);

// Recurrent kernels read more than weights: lengths of sequences, and inputs that are rows of a constant
// table, as embeddings are. What each row of the table contributes is computed once, when the kernel is made.

// Gives the length of each sequence; null: all have all steps. Throws bad_input for a length out of range.
const int32_t* lengths_of(const RecurrentPlan& plan, const KernelArguments& arguments);

// [directions, words, DirectionWeights::input.row_size()], with the biases; `packed` as pack_recurrent makes
// it.
std::vector<float> project_table(const RecurrentPlan& plan, const float* table, const float* packed);

// The word of each row of the input, from `ids`. Throws bad_input for one that is not in the table.
void find_words(const RecurrentPlan& plan, const void* ids, int32_t* words);

}  // namespace vernier::cpu
