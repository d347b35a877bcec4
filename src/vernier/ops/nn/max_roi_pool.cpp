// MaxRoiPool: the largest element of each cell of a grid laid over regions [R, 5] (image, x1, y1, x2, y2),
// whose corners are rounded to whole pixels and belong to the region. An empty cell gives 0.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

Dims pooled_shape(const Node& node) {
  auto pooled = node.attribute<Dims>("pooled_shape", {});
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    throw bad_input("pooled_shape is {}", dims_text(pooled));
  return pooled;
}

void infer_max_roi_pool(InferContext& context) {
  const auto &x = context.shape(0), &rois = context.shape(1);
  if ((x && x->size() != 4) || (rois && (rois->size() != 2 || !(*rois)[1].may_equal(5)))) {
    throw bad_input("MaxRoiPool takes an image [N, C, H, W] and regions [R, 5]");
  }
  const Dims pooled = pooled_shape(context.node());
  context.set_output(0, context.element(0),
                     Shape{rois ? (*rois)[0] : context.fresh("regions"),
                           x ? (*x)[1] : context.fresh("channels"), pooled[0], pooled[1]});
}

// One axis of a region: where cell i begins and ends.
struct Cells {
  double start, step;
  int64_t limit;

  Cells(double first, double last, double scale, int64_t cells, int64_t size)
      : start(std::round(first * scale)), limit(size) {
    step = std::max(std::round(last * scale) - start + 1, 1.0) / static_cast<double>(cells);
  }
  int64_t clamp(double at) const {
    // Regions beyond all numbers give NaN, which is no position either.
    return at > 0 ? static_cast<int64_t>(std::min(at, static_cast<double>(limit))) : 0;
  }
  int64_t begin(int64_t cell) const { return clamp(std::floor(static_cast<double>(cell) * step) + start); }
  int64_t end(int64_t cell) const { return clamp(std::ceil(static_cast<double>(cell + 1) * step) + start); }
};

void reference_max_roi_pool(ReferenceContext& context) {
  const Dims &dims = context.dims(0), out = context.out_dims(0);
  const auto x = context.reals(0), rois = context.reals(1);
  const auto scale = static_cast<double>(context.attribute<float>("spatial_scale", 1));
  const int64_t channels = dims[1], height = dims[2], width = dims[3], cells = out[2] * out[3];
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  parallel_for(out[0], 1, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const double* roi = rois.data() + r * 5;
      if (!std::all_of(roi, roi + 5, [](double v) { return std::isfinite(v); }) || roi[0] < 0 ||
          roi[0] >= static_cast<double>(dims[0])) {
        throw bad_input("region {} is of image {} or is not finite", r, roi[0]);
      }
      const Cells rows(roi[2], roi[4], scale, out[2], height), columns(roi[1], roi[3], scale, out[3], width);
      const double* image = x.data() + static_cast<int64_t>(roi[0]) * channels * height * width;
      for (int64_t i = 0; i < channels * cells; ++i) {
        const int64_t row = i % cells / out[3], column = i % out[3];
        const double* plane = image + i / cells * height * width;
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t h = rows.begin(row); h < rows.end(row); ++h) {
          for (int64_t w = columns.begin(column); w < columns.end(column); ++w)
            largest = std::max(largest, plane[h * width + w]);
        }
        const bool empty = rows.begin(row) >= rows.end(row) || columns.begin(column) >= columns.end(column);
        y[static_cast<size_t>(r * channels * cells + i)] = empty ? 0 : largest;
      }
    }
  });
  context.store(0, y);
}

}  // namespace

void register_max_roi_pool(OpRegistry& registry) {
  registry.add({.op = "MaxRoiPool",
                .operands = {Role::kData, Role::kCoordinates},
                .attributes = {{"pooled_shape", "INTS"}, {"spatial_scale", "FLOAT"}},
                .traits = kReduction,
                .precision = PrecisionClass::kUntried,
                .since = {22, 1},
                .infer = infer_max_roi_pool,
                .reference = reference_max_roi_pool});
}

}  // namespace vernier::ops
