// RNN, GRU and LSTM share these: sizes, activations, the projection of all inputs at once, and the walk over
// time.
#pragma once

#include <functional>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Sets the shapes of Y and of `states` final states (Y_h, Y_c). The hidden size is the size of the
// recurrence weights (input 2) along `hidden_axis`.
void infer_recurrent(InferContext& context, size_t states, size_t hidden_axis = 2);

// The attributes of all three, and `more`.
std::vector<AttributeSpec> recurrent_attributes(std::vector<AttributeSpec> more);

// Counts the products with the input and with the state, for OpDef::flops.
double recurrent_flops(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs);

// An activation function, its argument clipped first.
class Activation {
 public:
  // Takes alpha and beta, if the function has them, from the front of the lists; defaults are those of the
  // operators.
  Activation(const std::string& name, std::span<const float>& alphas, std::span<const float>& betas,
             double clip);
  double operator()(double x) const { return function_(std::clamp(x, -clip_, clip_), alpha_, beta_); }

  std::string_view name() const { return name_; }  // in lower case
  double alpha() const { return alpha_; }
  double beta() const { return beta_; }
  double clip() const { return clip_; }

 private:
  std::string_view name_;
  double (*function_)(double x, double alpha, double beta);
  double alpha_ = 0, beta_ = 0, clip_;
};

// Tells of each direction of a node whether it is walked backwards. Throws bad_input for an unknown
// direction.
std::vector<bool> directions_of(const Node& node);
// For each direction, its activations; `defaults` are those of one direction.
std::vector<std::vector<Activation>> activations_of(const Node& node,
                                                    const std::vector<std::string>& defaults);
// Whether tensors are [batch, steps, ...].
bool is_batch_first(const Node& node);

struct RecurrentWeights {
  int64_t hidden = 0;
  Elements<double> input,
      recurrent;         // [directions, gates * hidden, inputs], [directions, gates * hidden, hidden]
  bool dynamic = false;  // what they are multiplied with is quantized by its own range before
};

// Inputs 1 and 2 as ONNX has them.
RecurrentWeights plain_weights(const ReferenceContext& context);

// One run of one of the three operators.
struct Recurrence {
  // `gates` per unit; `defaults` are the activations of one direction.
  Recurrence(const ReferenceContext& context, int64_t gates, const std::vector<std::string>& defaults,
             RecurrentWeights weights);

  RecurrentWeights weights;
  int64_t steps, batch, inputs, hidden, gates, directions;
  bool batch_first = false;                          // layout 1: [batch, steps, ...]
  std::vector<bool> backward;                        // for each direction
  std::vector<std::vector<Activation>> activations;  // for each direction
  std::vector<int64_t> lengths;                      // steps of each sequence

  OperandFormat operands;  // that factors are rounded to

  // The other factor of a product with the weights.
  std::vector<double> factor(std::span<const double> values) const;
  int64_t row(int64_t step, int64_t sequence) const {
    return batch_first ? sequence * steps + step : step * batch + sequence;
  }
};

// One direction computes with this: matrices of this direction and gate after gate, row-major.
struct Direction {
  const Recurrence& recurrence;
  const std::vector<Activation>& activation;
  const double* recurrent_weights;            // [gates * hidden, hidden]
  const double *input_bias, *recurrent_bias;  // [gates * hidden], null if there are none
  const double* peepholes;                    // LSTM: [3 * hidden], null if there are none
  std::vector<double> projected;              // input * weights, [rows, gates * hidden], no bias
};

// The state of all sequences at one step.
struct Step {
  const Direction& direction;
  std::vector<const double*> projected;  // per sequence: [gates * hidden]; null: the sequence has ended
  std::vector<double>& hidden;           // [batch, hidden], in: before the step, out: after it
  std::vector<double>& cell;             // LSTM: the same for the cell state

  // hidden * recurrent weights of gates [first, first + count), [batch, count * hidden].
  std::vector<double> recurrent_product(const std::vector<double>& state, int64_t first, int64_t count) const;
  double bias(int64_t gate, int64_t unit) const;
};

// Runs every direction step by step and stores Y and the final states. `initial_cell` and `peepholes` are
// inputs, 0: none.
void run_recurrence(ReferenceContext& context, const Recurrence& recurrence, size_t initial_cell,
                    size_t peepholes, const std::function<void(Step&)>& advance);

}  // namespace vernier::ops
