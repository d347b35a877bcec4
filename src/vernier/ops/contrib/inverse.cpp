// com.microsoft Inverse: the inverses of the square matrices in the last two axes, by elimination with
// partial pivoting. A singular matrix gives what division by zero gives.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_inverse(InferContext& context) {
  const auto& shape = context.shape(0);
  if (shape) {
    if (shape->size() < 2) throw bad_input("Inverse takes matrices, not {}", shape_text(*shape));
    const Dim &rows = (*shape)[shape->size() - 2], &columns = shape->back();
    if (rows.is_constant() && columns.is_constant() && rows != columns) {
      throw bad_input("Inverse takes square matrices, not {}", shape_text(*shape));
    }
  }
  context.set_output(0, context.element(0), shape);
}

// Turns `matrix` into the identity and, by the same steps, the identity `inverse` into the inverse.
void invert(double* matrix, double* inverse, int64_t n) {
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    }
    double *top = matrix + column * n, *top_inverse = inverse + column * n;
    if (pivot != column) {
      std::swap_ranges(top, top + n, matrix + pivot * n);
      std::swap_ranges(top_inverse, top_inverse + n, inverse + pivot * n);
    }
    const double divisor = top[column];
    for (int64_t i = 0; i < n; ++i) {
      top[i] /= divisor;
      top_inverse[i] /= divisor;
    }
    for (int64_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = matrix[row * n + column];
      for (int64_t i = 0; i < n; ++i) {
        matrix[row * n + i] -= factor * top[i];
        inverse[row * n + i] -= factor * top_inverse[i];
      }
    }
  }
}

void reference_inverse(ReferenceContext& context) {
  const int64_t n = context.dims(0).back();
  auto matrices = context.in(0).to_doubles();
  std::vector<double> inverses(matrices.size());
  const int64_t count = n == 0 ? 0 : static_cast<int64_t>(matrices.size()) / (n * n);
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* inverse = inverses.data() + i * n * n;
      for (int64_t k = 0; k < n; ++k) inverse[k * n + k] = 1;
      invert(matrices.data() + i * n * n, inverse, n);
    }
  });
  context.store(0, context.dims(0), inverses);
}

}  // namespace

void register_inverse(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "Inverse",
                .operands = {Role::kData},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_inverse,
                .reference = reference_inverse});
}

}  // namespace vernier::ops
