// Det: the determinants of the square matrices in the last two axes, by elimination with partial pivoting.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

void infer_det(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& in = context.shape(0);
  if (!in) return;
  if (in->size() < 2) throw bad_input("Det takes matrices, not {}", shape_text(*in));
  const Dim &rows = (*in)[in->size() - 2], &columns = in->back();
  if (rows.is_constant() && columns.is_constant() && rows != columns)
    throw bad_input("Det takes square matrices, not {}", shape_text(*in));
  context.set_output(0, context.element(0), Shape(in->begin(), in->end() - 2));
}

// Destroys the matrix.
double determinant(std::vector<double>& matrix, int64_t n) {
  double result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[static_cast<size_t>(row * n + column)]) >
          std::abs(matrix[static_cast<size_t>(pivot * n + column)]))
        pivot = row;
    }
    double* top = matrix.data() + column * n;
    if (pivot != column) {
      std::swap_ranges(top, top + n, matrix.data() + pivot * n);
      result = -result;
    }
    result *= top[column];
    if (top[column] == 0) return 0;
    for (int64_t row = column + 1; row < n; ++row) {
      double* line = matrix.data() + row * n;
      const double factor = line[column] / top[column];
      for (int64_t i = column; i < n; ++i) line[i] -= factor * top[i];
    }
  }
  return result;
}

void reference_det(ReferenceContext& context) {
  const auto x = context.reals(0);
  const int64_t n = context.dims(0).back();
  const Dims out = context.out_dims(0);
  std::vector<double> result(static_cast<size_t>(element_count(out)));
  parallel_for(static_cast<int64_t>(result.size()), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> matrix;
    for (int64_t i = begin; i < end; ++i) {
      matrix.assign(x.data() + i * n * n, x.data() + (i + 1) * n * n);
      result[static_cast<size_t>(i)] = determinant(matrix, n);
    }
  });
  context.store(0, out, result);
}

}  // namespace

void register_det(OpRegistry& registry) {
  registry.add({.op = "Det",
                .operands = {Role::kData},
                .precision = PrecisionClass::kNeverLower,
                .since = {22, 11},
                .infer = infer_det,
                .reference = reference_det});
}

}  // namespace vernier::ops
