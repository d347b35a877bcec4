// Computes the cells of recurrent operators in one step of one sequence, in vectors of floats.
#pragma once

#include <cstdint>

namespace vernier::cpu {

enum class CellFunction : uint8_t {
  kAffine,
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu,
};

// The argument is clipped to [-clip, clip] before.
struct CellActivation {
  CellFunction function;
  float alpha, beta, clip;
};

// Rows of `units` per gate, gate after gate: what the input contributes (with the biases), and what the state
// does.
struct CellRow {
  int64_t units;
  const float* projected;
  float* product;
  float* hidden;  // [units], in: the state before, out: after
  const CellActivation* activations;
};

void rnn_cell(const CellRow& row);
// `peepholes`: [3 * units], or null.
void lstm_cell(const CellRow& row, const float* peepholes, bool input_forget, float* cell);
// First half of a GRU: update and reset gate into `product`. `late_bias`: linear_before_reset; the bias that
// the state's product gets before it is reset. Else null, and `reset` gets the state that is yet to be
// multiplied.
void gru_gates(const CellRow& row, const float* late_bias, float* reset);
// Second half: `linear` is what the state contributes to the candidate.
void gru_cell(const CellRow& row, const float* linear);

}  // namespace vernier::cpu
