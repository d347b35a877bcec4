// RotaryEmbedding: turns pairs of elements of every head by angles that depend on the position. x is
// [batch, heads, length, size] or [batch, length, heads * size]. Without position_ids the caches hold a row
// for each row of x. com.microsoft has the operator with another order of inputs; there one position is that
// of the first row of all batch entries, and a missing number of heads follows from the size of the caches.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/rotary.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

struct Inputs {
  size_t x, cosines, sines, positions;
};
constexpr Inputs kOnnx{0, 1, 2, 3}, kMicrosoft{0, 2, 3, 1};

// The head count of an x of rank 3.
int64_t head_count(const ReferenceContext& context, const RotaryCache& cache, int64_t hidden) {
  const auto heads = integer_attribute(context.node(), "num_heads");
  return heads > 0 || cache.half == 0 ? heads : hidden / (2 * cache.half);
}

// The position of every [batch, row].
std::vector<int64_t> positions_of(const ReferenceContext& context, size_t input, const HeadsLayout& x,
                                  int64_t limit) {
  std::vector<int64_t> result(static_cast<size_t>(x.batch * x.rows));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(i);
  if (!context.has(input)) return result;
  auto given = context.int_list(input);
  if (given.size() == 1 && context.dims(input).size() == 1) {
    if (given[0] < 0 || given[0] >= limit) throw bad_input("position {} is not among {}", given[0], limit);
    for (int64_t& position : result) position = given[0] + position % x.rows;
    return result;
  }
  return given;
}

template <const Inputs& Order>
void reference_rotary_embedding(ReferenceContext& context) {
  const RotaryCache cache(context, Order.cosines, Order.sines);
  const Dims& dims = context.dims(Order.x);
  const auto rotated = integer_attribute(context.node(), "rotary_embedding_dim");
  if (rotated != 0 && rotated != 2 * cache.half)
    throw bad_input("rotary_embedding_dim {} for caches of {} angles", rotated, cache.half);
  const Heads heads = heads_of(context, Order.x, dims.size() == 3 ? head_count(context, cache, dims[2]) : 0);
  const auto positions = positions_of(context, Order.positions, heads.layout, cache.positions);
  const bool interleaved = integer_attribute(context.node(), "interleaved") != 0;
  context.store(0, dims, rotate_heads(cache, positions, interleaved, heads, heads.layout));
}

void infer_rotary_embedding(InferContext& context) {
  context.set_output(0, context.element(0), context.shape(0));
}

// Without positions the caches have a row for each of x; no row has more angles than a head has pairs.
void infer_onnx(InferContext& context) {
  infer_rotary_embedding(context);
  const auto x = known_dims(context, kOnnx.x), cache = known_dims(context, kOnnx.cosines);
  if (!x || !cache || x->size() < 3 || cache->empty()) return;
  const int64_t heads = x->size() == 3 ? integer_attribute(context.node(), "num_heads") : 1;
  if (2 * cache->back() * std::max<int64_t>(heads, 1) > x->back())
    throw bad_input("{} angles for {}", cache->back(), dims_text(*x));
  const auto positions = known_dims(context, kOnnx.positions);
  const int64_t length = (*x)[x->size() - 2];  // of either rank
  if (positions && positions->size() == 2 && element_count(*positions) != (*x)[0] * length)
    throw bad_input("positions {} for {}", dims_text(*positions), dims_text(*x));
  if (context.has(kOnnx.positions) || cache->size() != 3) return;
  if ((*cache)[0] != (*x)[0] || (*cache)[1] != length)
    throw bad_input("caches {} do not have a row for each of {}", dims_text(*cache), dims_text(*x));
}

}  // namespace

void register_rotary_embedding(OpRegistry& registry) {
  OpDef def{.op = "RotaryEmbedding",
            .operands = {Role::kData, Role::kData, Role::kData, Role::kIndices},
            .optional_inputs = 1,
            .attributes = {{"interleaved", "INT"}, {"num_heads", "INT"}, {"rotary_embedding_dim", "INT"}},
            .precision = PrecisionClass::kNeverLower,
            .since = {23, 23},
            .infer = infer_onnx,
            .reference = reference_rotary_embedding<kOnnx>};
  registry.add(def);
  def.infer = infer_rotary_embedding;
  def.domain = "com.microsoft";
  def.operands = {Role::kData, Role::kIndices, Role::kData, Role::kData};
  def.optional_inputs = 0;
  def.attributes.insert(def.attributes.end(), {{"is_packed_batching", "INT"}, {"scale", "FLOAT"}});
  def.reference = reference_rotary_embedding<kMicrosoft>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
