#include "vernier/backends/cpu/recurrent/recurrent_cells.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/recurrent/recurrent_cells.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/activation_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)).
HWY_INLINE Vec softplus(Vec x) {
  const Floats d;
  const Vec above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  return hn::Add(above, hn::Log1p(d, exp(d, hn::Neg(hn::Abs(x)))));
}

Vec activate(const CellActivation& a, Vec given) {
  const Floats d;
  const Vec alpha = hn::Set(d, a.alpha), beta = hn::Set(d, a.beta), zero = hn::Zero(d);
  const Vec x = bound(d, given, -a.clip, a.clip);
  switch (a.function) {
    case CellFunction::kSigmoid: return sigmoid(x);
    case CellFunction::kTanh: return tanh(x);
    case CellFunction::kAffine: return hn::MulAdd(alpha, x, beta);
    case CellFunction::kElu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, expm1(d, x)), x);
    case CellFunction::kHardSigmoid: return bound(d, hn::MulAdd(alpha, x, beta), 0, 1);
    case CellFunction::kLeakyRelu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x);
    case CellFunction::kRelu: return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    case CellFunction::kScaledTanh: return hn::Mul(alpha, tanh(hn::Mul(beta, x)));
    case CellFunction::kSoftplus: return softplus(x);
    case CellFunction::kSoftsign: return hn::Div(x, hn::Add(hn::Set(d, 1.0F), hn::Abs(x)));
    case CellFunction::kThresholdedRelu: return hn::IfThenElse(hn::Ge(x, alpha), x, zero);
  }
  return x;
}

bool is_usual(const CellActivation& a, CellFunction function) {
  return a.function == function && !(a.clip < std::numeric_limits<float>::max());
}

}  // namespace

void rnn_here(const CellRow& row) {
  for_each_vector(row.units, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    store(activate(row.activations[0], hn::Add(load(row.projected + i), load(row.product + i))),
          row.hidden + i);
  });
}

// kUsual: sigmoid, tanh, tanh.
template <bool kUsual>
HWY_ATTR void lstm_units(const CellRow& row, const float* peepholes, bool input_forget, float* state) {
  const int64_t units = row.units;
  const auto gate = [&](Vec x) HWY_ATTR { return kUsual ? sigmoid(x) : activate(row.activations[0], x); };
  const auto squash = [&](int which, Vec x)
                          HWY_ATTR { return kUsual ? tanh(x) : activate(row.activations[which], x); };
  for_each_vector(units, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    // Gates in the order input, output, forget, candidate; peepholes input, output, forget.
    const auto sum = [&](int64_t which) HWY_ATTR {
      return hn::Add(load(row.projected + which * units + i), load(row.product + which * units + i));
    };
    const auto peep = [&](int64_t which, Vec cell) HWY_ATTR {
      return peepholes == nullptr ? sum(which)
                                  : hn::MulAdd(load(peepholes + which * units + i), cell, sum(which));
    };
    const Vec before = load(state + i);
    const Vec input = gate(peep(0, before));
    const Vec forget = input_forget ? hn::Sub(hn::Set(Floats(), 1.0F), input) : gate(peep(2, before));
    const Vec cell = hn::MulAdd(forget, before, hn::Mul(input, squash(1, sum(3))));
    store(cell, state + i);
    store(hn::Mul(gate(peep(1, cell)), squash(2, cell)), row.hidden + i);
  });
}

void lstm_here(const CellRow& row, const float* peepholes, bool input_forget, float* state) {
  const bool usual = is_usual(row.activations[0], CellFunction::kSigmoid) &&
                     is_usual(row.activations[1], CellFunction::kTanh) &&
                     is_usual(row.activations[2], CellFunction::kTanh);
  (usual ? lstm_units<true> : lstm_units<false>)(row, peepholes, input_forget, state);
}

void gru_gates_here(const CellRow& row, const float* late_bias, float* reset) {
  const int64_t units = row.units;
  for_each_vector(units, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    // Gates in the order update, reset, candidate.
    const auto gate = [&](int64_t which) HWY_ATTR {
      const int64_t at = which * units + i;
      return activate(row.activations[0], hn::Add(load(row.projected + at), load(row.product + at)));
    };
    store(gate(0), row.product + i);
    const Vec r = gate(1);
    if (late_bias == nullptr) {
      store(hn::Mul(r, load(row.hidden + i)), reset + i);
    } else {
      float* linear = row.product + 2 * units + i;
      store(hn::Mul(r, hn::Add(load(linear), load(late_bias + i))), linear);
    }
  });
}

void gru_cell_here(const CellRow& row, const float* linear) {
  const int64_t units = row.units;
  for_each_vector(units, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const Vec update = load(row.product + i), before = load(row.hidden + i);
    const Vec candidate =
        activate(row.activations[1], hn::Add(load(row.projected + 2 * units + i), load(linear + i)));
    const Vec rest = hn::Sub(hn::Set(Floats(), 1.0F), update);
    store(hn::MulAdd(rest, candidate, hn::Mul(update, before)), row.hidden + i);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(rnn_here);
HWY_EXPORT(lstm_here);
HWY_EXPORT(gru_gates_here);
HWY_EXPORT(gru_cell_here);

void rnn_cell(const CellRow& row) {
  HWY_DYNAMIC_DISPATCH(rnn_here)(row);
}
void lstm_cell(const CellRow& row, const float* peepholes, bool input_forget, float* cell) {
  HWY_DYNAMIC_DISPATCH(lstm_here)(row, peepholes, input_forget, cell);
}
void gru_gates(const CellRow& row, const float* late_bias, float* reset) {
  HWY_DYNAMIC_DISPATCH(gru_gates_here)(row, late_bias, reset);
}
void gru_cell(const CellRow& row, const float* linear) {
  HWY_DYNAMIC_DISPATCH(gru_cell_here)(row, linear);
}

}  // namespace vernier::cpu
#endif
