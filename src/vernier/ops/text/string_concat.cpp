// StringConcat: the strings of two tensors joined pairwise, with broadcasting.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

void reference_string_concat(ReferenceContext& context) {
  const Dims &left = context.dims(0), &right = context.dims(1);
  const auto a = context.in(0).values<std::string>(), b = context.in(1).values<std::string>();
  const Dims out = broadcast(left, right);
  auto result = context.allocate(0, out).mutable_values<std::string>();
  for_each_broadcast<2>(
      out, {&left, &right},
      [&](int64_t begin, int64_t count, std::array<int64_t, 2> at, std::array<int64_t, 2> step) {
        for (int64_t i = 0; i < count; ++i) {
          result[static_cast<size_t>(begin + i)] =
              a[static_cast<size_t>(at[0] + i * step[0])] + b[static_cast<size_t>(at[1] + i * step[1])];
        }
      });
}

}  // namespace

void register_string_concat(OpRegistry& registry) {
  registry.add({.op = "StringConcat",
                .operands = {Role::kData, Role::kData},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_broadcast,
                .reference = reference_string_concat});
}

}  // namespace vernier::ops
