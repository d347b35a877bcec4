// GridSample: samples x [N, C, spatial...] at grid [N, positions..., rank], whose coordinates run over [-1,
// 1], last axis first. Opset 16 named the modes bilinear and bicubic and knew images only; 20 names them
// linear and cubic.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/resampling/grid_sampler.h"

namespace vernier::ops {

namespace {

void infer_grid_sample(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &x = context.shape(0), &grid = context.shape(1);
  if (!x || !grid) return;
  const bool fits = x->size() >= 3 && grid->size() == x->size() && (*x)[0].may_equal((*grid)[0]) &&
                    grid->back().may_equal(static_cast<int64_t>(x->size()) - 2);
  if (!fits) throw bad_input("a grid {} for an input {}", shape_text(*grid), shape_text(*x));
  Shape result{(*x)[0], (*x)[1]};
  result.insert(result.end(), grid->begin() + 1, grid->end() - 1);
  context.set_output(0, context.element(0), std::move(result));
}

double sum(const std::vector<GridTap>& taps, const double* plane) {
  double result = 0;
  for (const GridTap& tap : taps) result += tap.weight * plane[tap.index];
  return result;
}

void reference_grid_sample(ReferenceContext& context) {
  const Dims &dims = context.dims(0), &grid_dims = context.dims(1);
  const auto x = context.reals(0), grid = context.reals(1);
  const auto rule = GridRule::of(context.node());
  const auto rank = static_cast<int64_t>(dims.size()) - 2;
  const int64_t channels = dims[1], plane = product(dims, 2, dims.size()),
                points = product(grid_dims, 1, grid_dims.size() - 1);
  if (plane == 0 && element_count(context.out_dims(0)) > 0)
    throw bad_input("nothing to sample in {}", dims_text(dims));
  std::vector<double> y(static_cast<size_t>(dims[0] * channels * points));
  parallel_for(dims[0] * points, 256, [&](int64_t begin, int64_t end) {
    GridSampler sampler(dims, rule);
    for (int64_t point = begin; point < end; ++point) {
      const int64_t image = point / points;
      const bool known = sampler.sample(grid.data() + point * rank);
      for (int64_t c = image * channels; c < (image + 1) * channels; ++c) {
        y[static_cast<size_t>(c * points + point % points)] =
            known ? sum(sampler.taps(), x.data() + c * plane) : std::numeric_limits<double>::quiet_NaN();
      }
    }
  });
  context.store(0, y);
}

}  // namespace

void register_grid_sample(OpRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {  // the latter as in opset 16
    registry.add({.domain = domain,
                  .op = "GridSample",
                  .operands = {Role::kData, Role::kCoordinates},
                  .attributes = {{"align_corners", "INT"}, {"mode", "STRING"}, {"padding_mode", "STRING"}},
                  .traits = kReduction | kInterpolates,
                  .precision = PrecisionClass::kUntried,
                  .since = {22, 16},
                  .infer = infer_grid_sample,
                  .reference = reference_grid_sample});
  }
}

}  // namespace vernier::ops
