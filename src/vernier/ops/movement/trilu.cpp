// Trilu: the upper or lower triangle of the last two axes, from the k-th diagonal on; zero elsewhere.
// com.microsoft has the same operator.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

void infer_trilu(InferContext& context) {
  const auto& input = context.shape(0);
  if (input && input->size() < 2) throw bad_input("Trilu needs matrices, not {}", shape_text(*input));
  context.set_type(0, context.type(0));
}

void reference_trilu(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const Dims& dims = input.dims();
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const int64_t k = std::clamp(context.integer(1, 0), -rows, columns);
  const bool upper = integer_attribute(context.node(), "upper") != 0;
  Tensor& output = context.allocate(0);
  visit_storage(input.type(), [&]<class T>(TypeTag<T>) {
    const T* from = input.values<T>().data();
    T* to = output.mutable_values<T>().data();
    parallel_for(
        product(dims, 0, dims.size() - 1), std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, columns)),
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t diagonal = row % rows + k;
            const int64_t first = upper ? std::clamp<int64_t>(diagonal, 0, columns) : 0;
            const int64_t last = upper ? columns : std::clamp<int64_t>(diagonal + 1, 0, columns);
            std::copy(from + row * columns + first, from + row * columns + last, to + row * columns + first);
          }
        });
  });
}

}  // namespace

void register_trilu(OpRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.add({.domain = domain,
                  .op = "Trilu",
                  .operands = {Role::kData, Role::kSetting},
                  .optional_inputs = 1,
                  .attributes = {{"upper", "INT"}},
                  .traits = kDataMovement,
                  .since = {14, 14},
                  .infer = infer_trilu,
                  .reference = reference_trilu,
                  .flops = no_flops});
  }
}

}  // namespace vernier::ops
