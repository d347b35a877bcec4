// BitCast: the same bits seen as another type of equal width. A BOOL byte other than 0 becomes true.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_bit_cast(InferContext& context) {
  const ElementType from = context.element(0);
  const auto number = context.attribute<int64_t>("to", 0);
  if (number <= 0 || number >= kElementTypeCount) throw bad_input("the attribute 'to' names no element type");
  const auto to = static_cast<ElementType>(number);
  if (from != ElementType::kUndefined && (element_bits(from) != element_bits(to) || element_bits(to) == 0)) {
    throw bad_input("BitCast cannot see {} as {}", element_type_name(from), element_type_name(to));
  }
  context.set_output(0, to, context.shape(0));
}

// In memory a type narrower than a byte takes one, whose high bits are not part of the value.
Tensor reinterpret_narrow(const Tensor& x, ElementType to) {
  const auto mask = static_cast<uint8_t>((1 << element_bits(to)) - 1);
  const auto* bytes = static_cast<const uint8_t*>(x.raw());
  Tensor result(to, x.dims());
  visit_element_type(to, [&]<class T>(TypeTag<T>) {
    const auto convert = [&](auto make) {
      auto values = result.mutable_values<T>();
      for (size_t i = 0; i < values.size(); ++i) values[i] = make(bytes[i] & mask);
    };
    if constexpr (std::is_same_v<T, bool>)
      convert([](int bits) { return bits != 0; });
    else if constexpr (requires { T::from_bits(0u); })
      convert([](int bits) { return T::from_bits(static_cast<uint32_t>(bits)); });
    else if constexpr (sizeof(T) == 1)
      convert([](int bits) { return T(static_cast<int64_t>(bits)); });
  });
  return result;
}

void reference_bit_cast(ReferenceContext& context) {
  const ElementType from = context.declared(0), to = context.out_type(0);
  // Bits are those of the declared type, in ideal mode, too.
  const Tensor& stored = context.in(0);
  const Tensor x =
      stored.type() == from ? stored : Tensor::from_doubles(from, stored.dims(), stored.to_doubles());
  Tensor y = element_size(to) == 1 ? reinterpret_narrow(x, to) : x.reinterpreted(to);
  const ElementType storage = context.out_storage(0);
  context.emit(0,
               y.type() == storage ? std::move(y) : Tensor::from_doubles(storage, y.dims(), y.to_doubles()));
}

}  // namespace

void register_bit_cast(OpRegistry& registry) {
  registry.add({.op = "BitCast",
                .operands = {Role::kData},
                .attributes = {{"to", "INT"}},
                .traits = kPointwise,
                .precision = PrecisionClass::kStatesType,
                .since = kNoNarrowFloats,
                .infer = infer_bit_cast,
                .reference = reference_bit_cast});
}

}  // namespace vernier::ops
