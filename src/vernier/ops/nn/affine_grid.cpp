// AffineGrid: sampling positions [N, spatial..., rank] for GridSample: theta [N, rank, rank + 1] times the
// position of every element of an image of `size` [N, C, spatial...], in [-1, 1] with x first. align_corners:
// -1 and 1 are the centres of the outer elements instead of their outer edges.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

void infer_affine_grid(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &theta = context.shape(0), &size = context.dims(1);
  if (!size) return;
  const auto rank = static_cast<int64_t>(size->size()) - 2;
  if (rank < 2 || rank > 3)
    throw bad_input("size {} is of no image in two or three dimensions", shape_text(*size));
  if (theta && (theta->size() != 3 || !(*theta)[0].may_equal((*size)[0]) || !(*theta)[1].may_equal(rank) ||
                !(*theta)[2].may_equal(rank + 1))) {
    throw bad_input("theta is {}, images {} in {} dimensions need [N, {}, {}]", shape_text(*theta),
                    shape_text(*size), rank, rank, rank + 1);
  }
  Shape result{(*size)[0]};
  result.insert(result.end(), size->begin() + 2, size->end());
  result.push_back(rank);
  context.set_output(0, context.element(0), std::move(result));
}

double position(int64_t i, int64_t size, bool align_corners) {
  if (!align_corners) return (2 * static_cast<double>(i) + 1) / static_cast<double>(size) - 1;
  // One element alone stands where counting starts.
  return size == 1 ? -1 : 2 * static_cast<double>(i) / static_cast<double>(size - 1) - 1;
}

void reference_affine_grid(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  const auto theta = context.reals(0);
  const size_t rank = out.size() - 2;
  if (context.dims(0)[0] != out[0])
    throw bad_input("{} transformations for {} images", context.dims(0)[0], out[0]);
  const bool align_corners = context.attribute<int64_t>("align_corners", 0) != 0;
  std::vector<double> y;
  y.reserve(static_cast<size_t>(element_count(out)));
  for_each_index(Dims(out.begin(), out.end() - 1), [&](const Dims& index) {
    const double* rows = theta.data() + index[0] * static_cast<int64_t>(rank * (rank + 1));
    for (size_t i = 0; i < rank; ++i) {
      const double* row = rows + i * (rank + 1);
      double sum = row[rank];
      for (size_t k = 0; k < rank; ++k)
        sum += row[k] * position(index[rank - k], out[rank - k], align_corners);
      y.push_back(sum);
    }
  });
  context.store(0, y);
}

}  // namespace

void register_affine_grid(OpRegistry& registry) {
  registry.add({.op = "AffineGrid",
                .operands = {Role::kData, Role::kSizes},
                .attributes = {{"align_corners", "INT"}},
                .traits = kInterpolates,
                .precision = PrecisionClass::kUntried,
                .since = {20, 20},
                .infer = infer_affine_grid,
                .reference = reference_affine_grid});
}

}  // namespace vernier::ops
