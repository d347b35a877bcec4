// LinearAttention: a recurrence over time with a state S [key size, value size] for each head of keys and
// values,
//   S = decay * S + k (x) u,   output = scale * q S,
// where decay = exp(g) in the gated rules (else 1) and u = beta * (v - S k) in the delta rules (else v; S is
// decayed already). Inputs are packed, [batch, time, heads * size].
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/attention.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kQuery, kKey, kValue, kPastState, kDecay, kBeta };

struct Rule {
  bool gated, delta;

  explicit Rule(const Node& node) {
    const auto name = node.attribute<std::string>("update_rule", "gated_delta");
    gated = name == "gated" || name == "gated_delta";
    delta = name == "delta" || name == "gated_delta";
    if (!gated && !delta && name != "linear") throw bad_input("the update rule '{}' is not known", name);
  }
};

void infer_linear_attention(InferContext& context) {
  const HeadCounts heads(context.node(), "q_num_heads");
  const ElementType type = context.element(kQuery),
                    state = context.has(kPastState) ? context.element(kPastState) : type;
  context.set_output(0, type, std::nullopt);
  context.set_output(1, state, std::nullopt);
  const auto &query = context.shape(kQuery), &value = context.shape(kValue);
  if (!query || !value) return;
  if (query->size() != 3 || value->size() != 3) throw bad_input("query and value must be of rank 3");
  const Dim key_size = floordiv((*query)[2], heads.query), value_size = floordiv((*value)[2], heads.shared);
  context.set_output(0, type, Shape{(*query)[0], (*query)[1], value_size * Dim(heads.query)});
  context.set_output(1, state, Shape{(*query)[0], heads.shared, key_size, value_size});
}

// Gates of one head: `width` numbers at each time step, 1 if one stands for all; a shared head is head 0.
struct Gate {
  Elements<double> elements;
  int64_t heads = 0, width = 0, steps = 0;

  Gate(const ReferenceContext& context, size_t input, const HeadsLayout& key, bool may_be_wide) {
    const Dims& dims = context.dims(input);
    const bool shared = !may_be_wide && dims.size() == 3 && dims[2] == 1;
    heads = shared ? 1 : key.heads;
    width = may_be_wide && dims.size() == 3 && dims[2] != key.heads ? key.size : 1;
    steps = key.rows;
    if (dims != Dims{key.batch, key.rows, heads * width})
      throw bad_input("a gate {} does not fit keys of {} heads", dims_text(dims), key.heads);
    elements = context.reals(input);
  }
  const double* at(int64_t entry, int64_t step, int64_t head) const {
    return elements.data() + ((entry * steps + step) * heads + (heads == 1 ? 0 : head)) * width;
  }
};

// Runs one head of keys and values, and the query heads that share it, through time.
struct Recurrence {
  const Heads &q, &k, &v;
  double scale;
  std::optional<Gate> decay, beta;

  void run(int64_t entry, int64_t head, double* state, const HeadsLayout& layout, double* out) const {
    const int64_t group = q.layout.heads / k.layout.heads, key_size = k.layout.size,
                  value_size = v.layout.size;
    std::vector<double> update(static_cast<size_t>(value_size));
    for (int64_t step = 0; step < k.layout.rows; ++step) {
      const double* key = k.at(entry, head) + step * k.layout.row_stride;
      const double* value = v.at(entry, head) + step * v.layout.row_stride;
      if (decay) apply_decay(decay->at(entry, step, head), state);
      std::copy_n(value, value_size, update.data());
      if (beta) {
        for (int64_t d = 0; d < key_size; ++d) {
          for (int64_t m = 0; m < value_size; ++m)
            update[static_cast<size_t>(m)] -= state[d * value_size + m] * key[d];
        }
        for (double& element : update) element *= *beta->at(entry, step, head);
      }
      for (int64_t d = 0; d < key_size; ++d) {
        for (int64_t m = 0; m < value_size; ++m)
          state[d * value_size + m] += key[d] * update[static_cast<size_t>(m)];
      }
      for (int64_t shared = head * group; shared < (head + 1) * group; ++shared) {
        const double* query = q.at(entry, shared) + step * q.layout.row_stride;
        double* result = out + layout.at(entry, shared) + step * layout.row_stride;
        for (int64_t d = 0; d < key_size; ++d) {
          for (int64_t m = 0; m < value_size; ++m) result[m] += scale * query[d] * state[d * value_size + m];
        }
      }
    }
  }

 private:
  void apply_decay(const double* gate, double* state) const {
    for (int64_t d = 0; d < k.layout.size; ++d) {
      const double factor = std::exp(gate[decay->width == 1 ? 0 : d]);
      for (int64_t m = 0; m < v.layout.size; ++m) state[d * v.layout.size + m] *= factor;
    }
  }
};

void reference_linear_attention(ReferenceContext& context) {
  const HeadCounts counts(context.node(), "q_num_heads");
  const Rule rule(context.node());
  const Heads q = heads_of(context, kQuery, counts.query), k = heads_of(context, kKey, counts.shared),
              v = heads_of(context, kValue, counts.shared);
  require_compatible(q, k, v);
  if (q.layout.rows != k.layout.rows) throw bad_input("{} queries for {} keys", q.layout.rows, k.layout.rows);
  const double chosen = context.attribute<float>("scale", 0);
  Recurrence recurrence{q,  k, v, chosen != 0 ? chosen : 1 / std::sqrt(static_cast<double>(q.layout.size)),
                        {}, {}};
  if (rule.gated) recurrence.decay.emplace(context, kDecay, k.layout, true);
  if (rule.delta) recurrence.beta.emplace(context, kBeta, k.layout, false);

  const auto state_layout =
      HeadsLayout::separate(k.layout.batch, k.layout.heads, k.layout.size, v.layout.size);
  std::vector<double> state(static_cast<size_t>(state_layout.count()));
  if (context.has(kPastState)) {
    if (context.in(kPastState).size() != state_layout.count())
      throw bad_input("past_state {} does not fit", dims_text(context.dims(kPastState)));
    state = context.in(kPastState).to_doubles();
  }
  const auto layout = HeadsLayout::packed(q.layout.batch, q.layout.rows, q.layout.heads, v.layout.size);
  std::vector<double> out(static_cast<size_t>(layout.count()));
  parallel_for(k.layout.batch * k.layout.heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t entry = i / k.layout.heads, head = i % k.layout.heads;
      recurrence.run(entry, head, state.data() + state_layout.at(entry, head), layout, out.data());
    }
  });
  context.store(0, out);
  context.store(1, state);
}

}  // namespace

void register_linear_attention(OpRegistry& registry) {
  registry.add({.op = "LinearAttention",
                .operands = {Role::kData, Role::kData, Role::kData, Role::kState, Role::kData, Role::kData},
                .optional_inputs = 3,
                .min_outputs = 1,
                .max_outputs = 2,
                .attributes = {{"chunk_size", "INT"},
                               {"kv_num_heads", "INT"},
                               {"q_num_heads", "INT"},
                               {"scale", "FLOAT"},
                               {"update_rule", "STRING"}},
                .traits = kContraction,
                .precision = PrecisionClass::kNeverLower,
                .since = kNoNarrowFloats,
                .infer = infer_linear_attention,
                .reference = reference_linear_attention});
}

}  // namespace vernier::ops
