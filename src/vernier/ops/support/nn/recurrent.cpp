#include "vernier/ops/support/nn/recurrent.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/quant/dynamic_quantization.h"

namespace vernier::ops {

namespace {

using Names = std::vector<std::string>;

int64_t direction_count(const Node& node) {
  return node.attribute<std::string>("direction", "forward") == "bidirectional" ? 2 : 1;
}

// Runs one direction: initial states in, final states out.
class DirectionRun {
 public:
  DirectionRun(const Direction& direction, bool backward, std::vector<double>& hidden,
               std::vector<double>& cell)
      : recurrence_(direction.recurrence), backward_(backward), step_{direction, {}, hidden, cell} {}

  // `emit(step, sequence, hidden)` is called for every step of every sequence.
  template <class Emit>
  void run(const std::function<void(Step&)>& advance, Emit emit) {
    const int64_t width = recurrence_.gates * recurrence_.hidden;
    for (int64_t done = 0; done < recurrence_.steps; ++done) {
      step_.projected.assign(static_cast<size_t>(recurrence_.batch), nullptr);
      for (int64_t s = 0; s < recurrence_.batch; ++s) {
        if (done < length(s))
          step_.projected[static_cast<size_t>(s)] =
              step_.direction.projected.data() + recurrence_.row(time(done, s), s) * width;
      }
      advance(step_);
      for (int64_t s = 0; s < recurrence_.batch; ++s) {
        if (done < length(s)) emit(time(done, s), s, step_.hidden.data() + s * recurrence_.hidden);
      }
    }
  }

 private:
  int64_t length(int64_t sequence) const { return recurrence_.lengths[static_cast<size_t>(sequence)]; }
  // Backwards, a short sequence starts at its own end.
  int64_t time(int64_t done, int64_t sequence) const {
    return backward_ ? length(sequence) - 1 - done : done;
  }

  const Recurrence& recurrence_;
  bool backward_;
  Step step_;
};

// [directions, batch, hidden], or [batch, directions, hidden] where the batch comes first.
int64_t state_offset(const Recurrence& r, int64_t direction, int64_t sequence) {
  return (r.batch_first ? sequence * r.directions + direction : direction * r.batch + sequence) * r.hidden;
}

std::vector<double> initial_state(const ReferenceContext& context, size_t input, const Recurrence& r,
                                  int64_t direction) {
  std::vector<double> state(static_cast<size_t>(r.batch * r.hidden));
  if (input == 0 || !context.has(input)) return state;
  const auto given = context.reals(input);
  if (given.size() != r.directions * r.batch * r.hidden)
    throw bad_input("initial state {} for {} sequences", dims_text(context.dims(input)), r.batch);
  for (int64_t s = 0; s < r.batch; ++s) {
    std::copy_n(given.data() + state_offset(r, direction, s), r.hidden, state.data() + s * r.hidden);
  }
  return state;
}

// Elements of one direction of an optional input; null if it is missing.
struct Slice {
  Elements<double> all;
  int64_t size = 0;
  const double* of(int64_t direction) const { return size == 0 ? nullptr : all.data() + direction * size; }
};

Slice slice(const ReferenceContext& context, size_t input, const Recurrence& r, int64_t size) {
  if (input == 0 || !context.has(input)) return {};
  Slice result{context.reals(input), size};
  if (result.all.size() != r.directions * size)
    throw bad_input("input {} is {} for {} units", input, dims_text(context.dims(input)), r.hidden);
  return result;
}

}  // namespace

std::vector<bool> directions_of(const Node& node) {
  const auto direction = node.attribute<std::string>("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw bad_input("direction is '{}'", direction);
  return direction_count(node) == 2 ? std::vector<bool>{false, true}
                                    : std::vector<bool>{direction == "reverse"};
}

std::vector<std::vector<Activation>> activations_of(const Node& node, const Names& defaults) {
  const auto directions = static_cast<size_t>(direction_count(node));
  auto names = node.attribute<Names>("activations", {});
  while (names.size() < defaults.size() * directions && names.size() % defaults.size() == 0)
    names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() < defaults.size() * directions) throw bad_input("{} activations", names.size());
  const auto alphas = node.attribute<std::vector<float>>("activation_alpha", {}),
             betas = node.attribute<std::vector<float>>("activation_beta", {});
  std::span<const float> alpha(alphas), beta(betas);
  const bool clips = node.find_attribute("clip") != nullptr;
  const double clip = clips ? std::abs(static_cast<double>(node.attribute<float>("clip", 0)))
                            : std::numeric_limits<double>::infinity();
  std::vector<std::vector<Activation>> activations(directions);
  for (size_t i = 0; i < defaults.size() * directions; ++i)
    activations[i / defaults.size()].emplace_back(names[i], alpha, beta, clip);
  return activations;
}

bool is_batch_first(const Node& node) {
  return integer_attribute(node, "layout") != 0;
}

namespace {

int64_t gate_count(const Node& node) {
  return node.op == "RNN" ? 1 : node.op == "GRU" ? 3 : 4;
}

// Weights, biases and the states to begin with, by what inference knows of them; rows of gates stand along
// the other axis.
void require_fitting_weights(const InferContext& context, size_t hidden_axis, const Dim& hidden) {
  const auto &x = context.shape(0), &w = context.shape(1), &r = context.shape(2);
  const Dim directions = direction_count(context.node()), units = hidden * gate_count(context.node());
  const size_t gates_axis = 3 - hidden_axis;
  const auto fits = [&](const std::optional<Shape>& weights) {
    return !weights || (weights->size() == 3 && (*weights)[0].may_equal(directions) &&
                        (*weights)[gates_axis].may_equal(units));
  };
  if (!fits(w) || !fits(r) || (w && x && !(*w)[hidden_axis].may_equal((*x)[2]))) {
    throw bad_input("W {} and R {} do not fit an input {}", w ? shape_text(*w) : "?",
                    r ? shape_text(*r) : "?", x ? shape_text(*x) : "?");
  }
  require_elements(context, 3, directions * units * 2);
  if (!x) return;
  const Dim batch = (*x)[is_batch_first(context.node()) ? 0 : 1];
  require_elements(context, 4, batch);
  require_elements(context, 5, directions * batch * hidden);
  if (gate_count(context.node()) != 4) return;
  require_elements(context, 6, directions * batch * hidden);
  require_elements(context, 7, directions * hidden * 3);
}

}  // namespace

void infer_recurrent(InferContext& context, size_t states, size_t hidden_axis) {
  const auto &x = context.shape(0), &r = context.shape(2);
  const ElementType element = context.element(0);
  for (size_t i = 0; i <= states; ++i) context.set_output(i, element, std::nullopt);
  if ((x && x->size() != 3) || (r && r->size() != 3)) throw bad_input("X and R must have rank 3");
  const int64_t given = context.attribute<int64_t>("hidden_size", 0),
                directions = direction_count(context.node());
  if (given < 0) throw bad_input("hidden_size is {}", given);
  const Dim hidden = r ? (*r)[hidden_axis] : given > 0 ? Dim(given) : context.fresh("hidden");
  if (given > 0 && hidden.is_constant() && hidden != Dim(given))
    throw bad_input("hidden_size is {}, but R is {}", given, shape_text(*r));
  require_fitting_weights(context, hidden_axis, hidden);
  if (!x) return;
  const bool batch_first = is_batch_first(context.node());
  const Dim steps = (*x)[batch_first ? 1 : 0], batch = (*x)[batch_first ? 0 : 1];
  context.set_output(
      0, element,
      batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  for (size_t i = 1; i <= states; ++i) {
    context.set_output(i, element,
                       batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
  }
}

std::vector<AttributeSpec> recurrent_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> all = {{"activation_alpha", "FLOATS"},
                                    {"activation_beta", "FLOATS"},
                                    {"activations", "STRINGS"},
                                    {"clip", "FLOAT"},
                                    {"direction", "STRING"},
                                    {"hidden_size", "INT"},
                                    {"layout", "INT"},
                                    {"output_sequence", "INT"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

double recurrent_flops(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>&) {
  const auto weights = static_cast<double>(element_count(inputs[1]) + element_count(inputs[2]));
  return 2 * weights * static_cast<double>(inputs[0][0] * inputs[0][1]);
}

RecurrentWeights plain_weights(const ReferenceContext& context) {
  const Dims &w = context.dims(1), &r = context.dims(2);
  if (w.size() != 3 || r.size() != 3 || w[0] != r[0] || w[1] != r[1])
    throw bad_input("W {} and R {} do not fit together", dims_text(w), dims_text(r));
  return {r[2], context.factors(1), context.factors(2)};
}

Recurrence::Recurrence(const ReferenceContext& context, int64_t gate_count, const Names& defaults,
                       RecurrentWeights given_weights)
    : weights(std::move(given_weights)), gates(gate_count) {
  const Node& node = context.node();
  operands = context.roundings().operands;
  const Dims& x = context.dims(0);
  batch_first = is_batch_first(node);
  steps = x[batch_first ? 1 : 0];
  batch = x[batch_first ? 0 : 1];
  inputs = x[2];
  hidden = weights.hidden;
  directions = direction_count(node);
  if (context.dims(1)[0] != directions || weights.input.size() != directions * gates * hidden * inputs ||
      weights.recurrent.size() != directions * gates * hidden * hidden) {
    throw bad_input("W {} and R {} do not fit an input {}", dims_text(context.dims(1)),
                    dims_text(context.dims(2)), dims_text(x));
  }
  backward = directions_of(node);
  activations = activations_of(node, defaults);

  lengths.assign(static_cast<size_t>(batch), steps);
  if (!context.has(4)) return;
  const auto given = context.int_list(4);
  if (given.size() != lengths.size())
    throw bad_input("{} sequence_lens for {} sequences", given.size(), batch);
  for (const int64_t length : given) {
    if (length < 0 || length > steps) throw bad_input("a sequence of {} steps out of {}", length, steps);
  }
  lengths = given;
}

std::vector<double> Recurrence::factor(std::span<const double> values) const {
  auto result = dynamically_quantized(values, !weights.dynamic);
  if (operands.is_defined()) {
    for (double& value : result) value = operands.round(value);
  }
  return result;
}

std::vector<double> Step::recurrent_product(const std::vector<double>& state, int64_t first,
                                            int64_t count) const {
  const Recurrence& r = direction.recurrence;
  std::vector<double> product(static_cast<size_t>(r.batch * count * r.hidden));
  gemm(false, true, r.batch, count * r.hidden, r.hidden, r.factor(state).data(), r.hidden,
       direction.recurrent_weights + first * r.hidden * r.hidden, r.hidden, product.data(), count * r.hidden);
  return product;
}

double Step::bias(int64_t gate, int64_t unit) const {
  if (direction.input_bias == nullptr) return 0;
  const int64_t at = gate * direction.recurrence.hidden + unit;
  return direction.input_bias[at] + direction.recurrent_bias[at];
}

void run_recurrence(ReferenceContext& context, const Recurrence& r, size_t initial_cell, size_t peepholes,
                    const std::function<void(Step&)>& advance) {
  const int64_t width = r.gates * r.hidden, rows = r.steps * r.batch,
                state_size = r.directions * r.batch * r.hidden;
  const auto x = r.factor(context.reals(0).span());
  const Slice biases = slice(context, 3, r, 2 * width), peeps = slice(context, peepholes, r, 3 * r.hidden);
  std::vector<double> y(static_cast<size_t>(rows * r.directions * r.hidden));
  std::vector<double> final_hidden(static_cast<size_t>(state_size)), final_cell(final_hidden.size());
  for (int64_t d = 0; d < r.directions; ++d) {
    const double* bias = biases.of(d);
    Direction direction{r,
                        r.activations[static_cast<size_t>(d)],
                        r.weights.recurrent.data() + d * width * r.hidden,
                        bias,
                        bias == nullptr ? nullptr : bias + width,
                        peeps.of(d),
                        std::vector<double>(static_cast<size_t>(rows * width))};
    gemm(false, true, rows, width, r.inputs, x.data(), r.inputs,
         r.weights.input.data() + d * width * r.inputs, r.inputs, direction.projected.data(), width);
    auto hidden = initial_state(context, 5, r, d), cell = initial_state(context, initial_cell, r, d);
    DirectionRun(direction, r.backward[static_cast<size_t>(d)], hidden, cell)
        .run(advance, [&](int64_t step, int64_t sequence, const double* state) {
          const int64_t at = r.batch_first ? (sequence * r.steps + step) * r.directions + d
                                           : (step * r.directions + d) * r.batch + sequence;
          std::copy_n(state, r.hidden, y.data() + at * r.hidden);
        });
    for (int64_t s = 0; s < r.batch; ++s) {
      std::copy_n(hidden.data() + s * r.hidden, r.hidden, final_hidden.data() + state_offset(r, d, s));
      std::copy_n(cell.data() + s * r.hidden, r.hidden, final_cell.data() + state_offset(r, d, s));
    }
  }
  context.store(0, y);
  context.store(1, final_hidden);
  if (initial_cell != 0) context.store(2, final_cell);
}

}  // namespace vernier::ops
