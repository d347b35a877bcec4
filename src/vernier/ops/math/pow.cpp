// Pow: the type of the base is that of the result; since opset 12 the exponent may be of another type. An
// integer to an integer power is computed exactly and wraps; a negative power of an integer is truncated
// towards zero.
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) throw bad_input("zero to a negative integer power");
    if (base != 1 && base != -1) return 0;
    return base == 1 || exponent % 2 == 0 ? 1 : -1;
  }
  uint64_t result = 1;
  for (auto factor = static_cast<uint64_t>(base); exponent != 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 != 0) result *= factor;
  }
  return static_cast<int64_t>(result);
}

void infer_pow(InferContext& context) {
  context.set_output(0, context.element(0), align_legacy_broadcast(context));
}

void reference_pow(ReferenceContext& context) {
  const Dims right = legacy_dims(context);
  const Dims out = broadcast(context.dims(0), right);
  if (is_float(context.in(0).type()) || is_float(context.in(1).type())) {
    const auto power = [](double base, double exponent) { return std::pow(base, exponent); };
    context.store(0, out,
                  zip<double>(context.reals(0), context.dims(0), context.reals(1), right, out, power));
  } else {
    context.store_ints(
        0, out, zip<int64_t>(context.ints(0), context.dims(0), context.ints(1), right, out, integer_power));
  }
}

}  // namespace

void register_pow(OpRegistry& registry) {
  registry.add({.op = "Pow",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"axis", "INT"}, {"broadcast", "INT"}},
                .traits = kPointwise | kFunction,
                .precision = PrecisionClass::kNeverLower,
                .since = {15, 1},
                .infer = infer_pow,
                .reference = reference_pow});
}

}  // namespace vernier::ops
