// Range: start, start + delta, … up to but not including limit. The numbers are computed in double and
// rounded once, so `stash_type` (opset 27), which asks for float inside where the type is narrower, is always
// fulfilled. In com.microsoft delta may be left out, which makes it 1.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// max(0, ceil((limit - start) / delta)); nothing if the sign of delta is open.
std::optional<Dim> integer_count(const Dim& start, const Dim& limit, const Dim& delta) {
  if (delta == Dim(0)) throw bad_input("the delta of Range is 0");
  const auto ascending = delta.lower_bound(), descending = (Dim(0) - delta).lower_bound();
  if (ascending && *ascending > 0) return max(0, ceildiv(limit - start, delta));
  if (descending && *descending > 0) return max(0, ceildiv(start - limit, Dim(0) - delta));
  return std::nullopt;
}

// Floats that hold integers, such as a size cast to float, are followed like integers.
bool infer_integers(InferContext& context) {
  const auto start = scalar_content(context, 0), limit = scalar_content(context, 1),
             delta = context.has(2) ? scalar_content(context, 2) : Dim(1);
  const auto count = start && limit && delta ? integer_count(*start, *limit, *delta) : std::nullopt;
  if (!count) return false;
  context.set_output(0, context.element(0), Shape{*count});
  if (!count->is_constant() || *count->constant() > kMaxFollowedElements) return true;
  std::vector<Dim> content;
  for (int64_t i = 0; i < *count->constant(); ++i) content.push_back(*start + *delta * i);
  context.set_dims(0, std::move(content));
  return true;
}

double one_real(const Tensor& tensor) {
  if (tensor.size() != 1)
    throw bad_input("the inputs of Range must be scalars, not {}", dims_text(tensor.dims()));
  return tensor.to_doubles()[0];
}

int64_t real_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (delta == 0 || !(count < 0x1p48))
    throw bad_input("Range from {} to {} by {} does not end", start, limit, delta);
  return std::max<int64_t>(0, static_cast<int64_t>(std::max(count, 0.0)));
}

void infer_range(InferContext& context) {
  if (infer_integers(context)) return;
  const Tensor *start = context.constant(0), *limit = context.constant(1), *delta = context.constant(2);
  const bool known = start != nullptr && limit != nullptr && (delta != nullptr || !context.has(2));
  const Dim count = known ? Dim(real_count(one_real(*start), one_real(*limit), delta ? one_real(*delta) : 1))
                          : context.fresh("range");
  context.set_output(0, context.element(0), Shape{count});
}

void reference_range(ReferenceContext& context) {
  const int64_t count = context.allocate(0).size();  // refuses what does not fit into memory
  if (!is_float(context.in(0).type())) {
    const int64_t start = context.integer(0, 0), delta = context.integer(2, 1);
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = start + i * delta;
    return context.store_ints(0, {count}, values);
  }
  const double start = context.real(0, 0), delta = context.real(2, 1);
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = start + static_cast<double>(i) * delta;
  context.store(0, values);
}

}  // namespace

void register_range(OpRegistry& registry) {
  OpDef def{.op = "Range",
            .operands = {Role::kData, Role::kData, Role::kData},
            .attributes = {{"stash_type", "INT"}},
            .traits = kRoundsOnce,
            .precision = PrecisionClass::kStatesType,
            .since = kNoNarrowFloats,
            .infer = infer_range,
            .reference = reference_range};
  registry.add(def);
  def.domain = "com.microsoft";
  def.optional_inputs = 1;
  def.attributes = {};
  registry.add(std::move(def));
}

}  // namespace vernier::ops
