// GridSample: samples x [N, C, spatial...] at grid [N, positions..., rank], whose coordinates run over [-1,
// 1], last axis first. Opset 16 named the modes bilinear and bicubic and knew images only; 20 names them
// linear and cubic.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/resample.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

namespace {

enum class Padding : uint8_t { kZeros, kBorder, kReflection };

Padding padding_of(const ReferenceContext& context) {
  const auto name = context.attribute<std::string>("padding_mode", "zeros");
  if (name == "zeros") return Padding::kZeros;
  if (name == "border") return Padding::kBorder;
  if (name == "reflection") return Padding::kReflection;
  throw bad_input("padding_mode is '{}'", name);
}

void infer(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &x = context.shape(0), &grid = context.shape(1);
  if (!x || !grid) return;
  const bool fits = x->size() >= 3 && grid->size() == x->size() &&
                    (!grid->back().is_constant() || grid->back() == Dim(static_cast<int64_t>(x->size()) - 2));
  if (!fits) throw bad_input("a grid {} for an input {}", shape_text(*grid), shape_text(*x));
  Shape result{(*x)[0], (*x)[1]};
  result.insert(result.end(), grid->begin() + 1, grid->end() - 1);
  context.set_output(0, context.element(0), std::move(result));
}

// Moves a position into [low, high] by reflection at both ends.
double reflect(double position, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = std::fmod(std::abs(position - low), 2 * range);
  return low + (distance <= range ? distance : 2 * range - distance);
}

struct Tap {
  int64_t index;  // along the axis, or in the plane
  double weight;
};

// Finds the taps of single positions along one axis.
struct AxisSampler {
  int64_t size;
  Interpolation interpolation;
  Padding padding;
  bool align_corners;

  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(size) - (align_corners ? 1 : 0.5); }

  double position(double coordinate) const {
    const auto length = static_cast<double>(size);
    double at = align_corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
    // Farther out nothing changes, and positions have to fit into integers.
    at = std::clamp(at, -0x1p40, 0x1p40);
    if (interpolation == Interpolation::kNearest) at = std::nearbyint(at);
    if (at >= low() && at <= high()) return at;
    if (padding == Padding::kBorder) return std::clamp(at, 0.0, length - 1);
    return padding == Padding::kReflection ? reflect(at, low(), high()) : at;
  }

  void add(std::vector<Tap>& taps, double at, double weight) const {
    if (padding == Padding::kBorder) at = std::clamp(at, 0.0, static_cast<double>(size - 1));
    if (padding == Padding::kReflection && (at < low() || at > high()))
      at = std::trunc(reflect(at, low(), high()));
    if (at >= 0 && at < static_cast<double>(size)) taps.push_back({static_cast<int64_t>(at), weight});
  }

  void sample(double coordinate, std::vector<Tap>& taps) const {
    taps.clear();
    const double at = position(coordinate), base = std::floor(at), rest = at - base;
    if (interpolation == Interpolation::kNearest) return add(taps, at, 1);
    if (interpolation == Interpolation::kLinear) {
      add(taps, base, 1 - rest);
      return add(taps, base + 1, rest);
    }
    constexpr double a = -0.75;
    const auto far = [](double d) { return ((d - 5) * d + 8) * a * d - 4 * a; };
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    add(taps, base - 1, far(1 + rest));
    add(taps, base, near(rest));
    add(taps, base + 1, near(1 - rest));
    add(taps, base + 2, far(2 - rest));
  }
};

// All taps of one position in the plane: the product of those along each axis.
class PointSampler {
 public:
  PointSampler(const Dims& x, Interpolation interpolation, Padding padding, bool align_corners) {
    for (size_t i = 2; i < x.size(); ++i) axes_.push_back({x[i], interpolation, padding, align_corners});
  }

  // False if a coordinate is NaN.
  bool sample(const double* coordinates) {
    taps_.assign(1, {0, 1});
    for (size_t i = 0; i < axes_.size(); ++i) {
      const double coordinate = coordinates[axes_.size() - 1 - i];
      if (std::isnan(coordinate)) return false;
      axes_[i].sample(coordinate, along_);
      wider_.clear();
      for (const Tap& tap : taps_) {
        for (const Tap& next : along_)
          wider_.push_back({tap.index * axes_[i].size + next.index, tap.weight * next.weight});
      }
      std::swap(taps_, wider_);
    }
    return true;
  }

  double sum(const double* plane) const {
    double result = 0;
    for (const Tap& tap : taps_) result += tap.weight * plane[tap.index];
    return result;
  }

 private:
  std::vector<AxisSampler> axes_;
  std::vector<Tap> taps_, along_, wider_;
};

void reference(ReferenceContext& context) {
  const Dims &dims = context.dims(0), &grid_dims = context.dims(1);
  const auto x = context.reals(0), grid = context.reals(1);
  if (grid_dims[0] != dims[0]) throw bad_input("{} grids for {} inputs", grid_dims[0], dims[0]);
  const auto interpolation = interpolation_of(context.attribute<std::string>("mode", "linear"));
  const Padding padding = padding_of(context);
  const bool align_corners = context.attribute<int64_t>("align_corners", 0) != 0;
  const auto rank = static_cast<int64_t>(dims.size()) - 2;
  const int64_t channels = dims[1], plane = product(dims, 2, dims.size()),
                points = product(grid_dims, 1, grid_dims.size() - 1);
  if (plane == 0 && element_count(context.out_dims(0)) > 0)
    throw bad_input("nothing to sample in {}", dims_text(dims));
  std::vector<double> y(static_cast<size_t>(dims[0] * channels * points));
  parallel_for(dims[0] * points, 256, [&](int64_t begin, int64_t end) {
    PointSampler sampler(dims, interpolation, padding, align_corners);
    for (int64_t point = begin; point < end; ++point) {
      const int64_t image = point / points;
      const bool known = sampler.sample(grid.data() + point * rank);
      for (int64_t c = image * channels; c < (image + 1) * channels; ++c) {
        y[static_cast<size_t>(c * points + point % points)] =
            known ? sampler.sum(x.data() + c * plane) : std::numeric_limits<double>::quiet_NaN();
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
                  .min_inputs = 2,
                  .max_inputs = 2,
                  .attributes = {{"align_corners", "INT"}, {"mode", "STRING"}, {"padding_mode", "STRING"}},
                  .traits = kReduction,
                  .infer = infer,
                  .reference = reference});
  }
}

}  // namespace vernier::ops
