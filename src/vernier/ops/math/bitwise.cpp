// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, and BitShift (signed types since opset 28: the right shift
// keeps the sign). A shift by a negative amount, or by all bits or more, leaves only copies of what is
// shifted in.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

// In ideal mode a quantized integer is an unrounded double; its bits are those of the nearest integer.
Elements<int64_t> bits_of(const ReferenceContext& context, size_t input) {
  const Tensor& tensor = context.in(input);
  if (!is_float(tensor.type()) || !is_integer(context.declared(input))) return context.ints(input);
  auto values = tensor.to_doubles();
  for (double& value : values) value = std::nearbyint(value);
  return Elements<int64_t>(Tensor::from_doubles(context.declared(input), tensor.dims(), values).to_ints());
}

void infer_bitwise(InferContext& context) {
  infer_binary(context, context.element(0));
}

template <class F>
void zip_bits(ReferenceContext& context, F f) {
  const Dims out = broadcast(context.dims(0), context.dims(1));
  context.store_ints(
      0, out,
      zip<int64_t>(bits_of(context, 0), context.dims(0), bits_of(context, 1), context.dims(1), out, f));
}

template <class F>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kData},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_bitwise,
                .reference = [](ReferenceContext& context) { zip_bits(context, F()); }});
}

void bitwise_not(ReferenceContext& context) {
  const auto x = bits_of(context, 0);
  std::vector<int64_t> y(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) y[static_cast<size_t>(i)] = ~x[i];
  context.store_ints(0, context.dims(0), y);
}

void bit_shift(ReferenceContext& context) {
  const auto direction = text_attribute(context.node(), "direction");
  const ElementType type = context.declared(0);
  const int bits = element_bits(type);
  const auto outside = [bits](int64_t amount) { return amount < 0 || amount >= bits; };
  if (direction == "LEFT") {
    zip_bits(context, [=](int64_t x, int64_t amount) {
      return outside(amount) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << amount);
    });
  } else if (direction == "RIGHT" && is_signed_integer(type)) {
    zip_bits(context, [=](int64_t x, int64_t amount) { return x >> (outside(amount) ? 63 : amount); });
  } else if (direction == "RIGHT") {
    zip_bits(context, [=](int64_t x, int64_t amount) {
      return outside(amount) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> amount);
    });
  } else {
    throw bad_input("the direction of BitShift is '{}', not 'LEFT' or 'RIGHT'", direction);
  }
}

}  // namespace

void register_bitwise(OpRegistry& registry) {
  add<std::bit_and<int64_t>>(registry, "BitwiseAnd");
  add<std::bit_or<int64_t>>(registry, "BitwiseOr");
  add<std::bit_xor<int64_t>>(registry, "BitwiseXor");
  registry.add({.op = "BitwiseNot",
                .operands = {Role::kData},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = [](InferContext& context) { context.set_type(0, context.type(0)); },
                .reference = bitwise_not});
  registry.add({.op = "BitShift",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"direction", "STRING"}},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_bitwise,
                .reference = bit_shift});
}

}  // namespace vernier::ops
