// Kernels of LSTM, GRU and RNN know this of their node, whoever computes it.
#pragma once

#include "vernier/exec/backend.h"
#include "vernier/ops/support/nn/recurrent.h"

namespace vernier {

namespace recurrent {

enum Input : size_t { kX, kW, kR, kBias, kLengths, kInitialHidden, kInitialCell, kPeepholes };

}  // namespace recurrent

enum class CellKind : uint8_t { kRnn, kGru, kLstm };

struct RecurrentLayer {
  CellKind kind = CellKind::kRnn;
  ElementType element = ElementType::kFloat;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, gates = 1;
  bool batch_first = false, linear_before_reset = false, input_forget = false;
  std::vector<bool> backward;                             // of each direction
  std::vector<std::vector<ops::Activation>> activations;  // of each direction

  int64_t directions() const { return static_cast<int64_t>(backward.size()); }
  int64_t width() const { return gates * hidden; }  // rows of W and R in one direction
};

// Nothing for other operators, and, with `reason`, where an operand is not as large as the sizes of X and R
// say, or not of the type of X.
std::optional<RecurrentLayer> recurrent_layer(const KernelRequest& request, std::string& reason);

}  // namespace vernier
