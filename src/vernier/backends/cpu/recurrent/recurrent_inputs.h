// What recurrent kernels read beside weights: lengths of sequences, and inputs that are rows of a constant
// table, as embeddings are. What each row of the table contributes is computed once, when the kernel is made.
#pragma once

#include "vernier/backends/cpu/recurrent/recurrent_weights.h"

namespace vernier::cpu {

// Of each sequence; null: all have all steps. Throws bad_input for a length out of range.
const int32_t* lengths_of(const RecurrentPlan& plan, const KernelArguments& arguments);

// [directions, words, DirectionWeights::input.row_size()], with the biases; `packed` as pack_recurrent makes
// it.
std::vector<float> project_table(const RecurrentPlan& plan, const float* table, const float* packed);

// The word of each row of the input, from `ids`. Throws bad_input for one that is not in the table.
void find_words(const RecurrentPlan& plan, const void* ids, int32_t* words);

}  // namespace vernier::cpu
