// RoiAlign: samples each cell of a grid over regions [R, 4] (x1, y1, x2, y2) bilinearly and takes the mean,
// or the largest weighted corner. Before opset 16 coordinates were not shifted by half a pixel and regions
// were at least one pixel wide (now coordinate_transformation_mode "output_half_pixel").
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

// More samples of one cell along one axis than any real region needs; what asks for more is damaged.
constexpr double kMostSamples = 1 << 16;

void infer_roi_align(InferContext& context) {
  const auto &x = context.shape(0), &rois = context.shape(1), &images = context.shape(2);
  if ((x && x->size() != 4) || (rois && (rois->size() != 2 || !(*rois)[1].may_equal(4))) ||
      (images && images->size() != 1)) {
    throw bad_input("RoiAlign takes an image [N, C, H, W], regions [R, 4] and their images [R]");
  }
  if (rois) require_elements(context, 2, (*rois)[0]);
  const auto height = context.attribute<int64_t>("output_height", 1),
             width = context.attribute<int64_t>("output_width", 1);
  if (height < 1 || width < 1) throw bad_input("an output of {} by {}", height, width);
  const Dim count = rois ? (*rois)[0] : images ? (*images)[0] : context.fresh("regions");
  context.set_output(0, context.element(0),
                     Shape{count, x ? (*x)[1] : context.fresh("channels"), height, width});
}

// A sample's two neighbours along one axis.
struct Neighbours {
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;  // both 0: outside
};

// The samples of one region along one axis, cell by cell.
struct AxisSamples {
  std::vector<Neighbours> neighbours;
  int64_t per_cell;

  AxisSamples(double start, double length, int64_t cells, int64_t sampling_ratio, int64_t size) {
    const double cell = length / static_cast<double>(cells);
    const double wanted = sampling_ratio > 0 ? static_cast<double>(sampling_ratio) : std::ceil(cell);
    if (!(wanted <= kMostSamples && std::isfinite(start) && std::isfinite(length)))
      throw bad_input("a region from {} of length {}", start, length);
    per_cell = static_cast<int64_t>(std::max(wanted, 0.0));  // a region inside out has no samples
    for (int64_t i = 0; i < cells * per_cell; ++i) {
      const int64_t before = i / per_cell;
      const double step = (static_cast<double>(i % per_cell) + 0.5) * cell / static_cast<double>(per_cell);
      neighbours.push_back(neighbours_of(start + static_cast<double>(before) * cell + step, size));
    }
  }

  static Neighbours neighbours_of(double at, int64_t size) {
    if (size == 0 || at < -1 || at > static_cast<double>(size)) return {};
    at = std::max(at, 0.0);
    const auto low = static_cast<int64_t>(at);
    if (low >= size - 1) return {size - 1, size - 1, 1, 0};
    const double rest = at - static_cast<double>(low);
    return {low, low + 1, 1 - rest, rest};
  }
};

struct Region {
  AxisSamples rows, columns;
  bool average;

  // One cell of one plane.
  double pool(const double* plane, int64_t width, int64_t row, int64_t column) const {
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = row * rows.per_cell; i < (row + 1) * rows.per_cell; ++i) {
      const Neighbours& y = rows.neighbours[static_cast<size_t>(i)];
      for (int64_t j = column * columns.per_cell; j < (column + 1) * columns.per_cell; ++j) {
        const Neighbours& x = columns.neighbours[static_cast<size_t>(j)];
        if (y.low_weight + y.high_weight == 0 || x.low_weight + x.high_weight == 0) {
          largest = std::max(largest, 0.0);
          continue;
        }
        const double corners[] = {y.low_weight * x.low_weight * plane[y.low * width + x.low],
                                  y.low_weight * x.high_weight * plane[y.low * width + x.high],
                                  y.high_weight * x.low_weight * plane[y.high * width + x.low],
                                  y.high_weight * x.high_weight * plane[y.high * width + x.high]};
        for (const double corner : corners) {
          sum += corner;
          largest = std::max(largest, corner);
        }
      }
    }
    const int64_t count = rows.per_cell * columns.per_cell;
    if (count == 0) return 0;
    return average ? sum / static_cast<double>(count) : largest;
  }
};

Region region_of(const ReferenceContext& context, const double* roi, const Dims& x, const Dims& out) {
  const auto scale = static_cast<double>(context.attribute<float>("spatial_scale", 1));
  const bool half_pixel =
      context.version() >= 16 &&
      context.attribute<std::string>("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const int64_t ratio = context.attribute<int64_t>("sampling_ratio", 0);
  const double shift = half_pixel ? 0.5 : 0,
               least = half_pixel ? -std::numeric_limits<double>::infinity() : 1.0;
  const auto samples = [&](double first, double last, int64_t cells, int64_t size) {
    return AxisSamples(first * scale - shift, std::max((last - first) * scale, least), cells, ratio, size);
  };
  return {samples(roi[1], roi[3], out[2], x[2]), samples(roi[0], roi[2], out[3], x[3]),
          context.attribute<std::string>("mode", "avg") == "avg"};
}

void reference_roi_align(ReferenceContext& context) {
  const Dims &dims = context.dims(0), out = context.out_dims(0);
  const auto x = context.reals(0), rois = context.reals(1);
  const auto images = context.ints(2);
  if (images.size() != out[0]) throw bad_input("{} image numbers for {} regions", images.size(), out[0]);
  const auto mode = context.attribute<std::string>("mode", "avg");
  if (mode != "avg" && mode != "max") throw bad_input("mode is '{}'", mode);
  const int64_t channels = dims[1], plane = dims[2] * dims[3], cells = out[2] * out[3];
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  parallel_for(out[0], 1, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      if (images[r] < 0 || images[r] >= dims[0])
        throw bad_input("region {} is of image {} out of {}", r, images[r], dims[0]);
      const Region region = region_of(context, rois.data() + r * 4, dims, out);
      for (int64_t i = 0; i < channels * cells; ++i) {
        const double* source = x.data() + (images[r] * channels + i / cells) * plane;
        y[static_cast<size_t>(r * channels * cells + i)] =
            region.pool(source, dims[3], i % cells / out[3], i % out[3]);
      }
    }
  });
  context.store(0, y);
}

}  // namespace

void register_roi_align(OpRegistry& registry) {
  registry.add({.op = "RoiAlign",
                .operands = {Role::kData, Role::kCoordinates, Role::kIndices},
                .attributes = {{"coordinate_transformation_mode", "STRING"},
                               {"mode", "STRING"},
                               {"output_height", "INT"},
                               {"output_width", "INT"},
                               {"sampling_ratio", "INT"},
                               {"spatial_scale", "FLOAT"}},
                .traits = kReduction | kInterpolates,
                .precision = PrecisionClass::kUntried,
                .since = {22, 10},
                .infer = infer_roi_align,
                .reference = reference_roi_align});
}

}  // namespace vernier::ops
