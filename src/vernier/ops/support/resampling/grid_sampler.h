// Where GridSample finds the elements that it weighs, and by how much.
#pragma once

#include "vernier/ops/support/resampling/resample.h"

namespace vernier::ops {

enum class GridPadding : uint8_t { kZeros, kBorder, kReflection };

struct GridRule {
  Interpolation interpolation;
  GridPadding padding;
  bool align_corners;

  // From the attributes; throws bad_input for unknown names.
  static GridRule of(const Node& node);
};

struct GridTap {
  int64_t index;  // along the axis, or in the plane
  double weight;
};

// All taps of one position in the plane: the product of those along each axis.
class GridSampler {
 public:
  // `x` is [N, C, spatial...].
  GridSampler(const Dims& x, const GridRule& rule);

  // From coordinates over [-1, 1], last axis first. False if one is NaN.
  bool sample(const double* coordinates);
  const std::vector<GridTap>& taps() const { return taps_; }

 private:
  // Finds the taps of single positions along one axis.
  struct Axis {
    int64_t size;
    GridRule rule;

    double low() const { return rule.align_corners ? 0 : -0.5; }
    double high() const { return static_cast<double>(size) - (rule.align_corners ? 1 : 0.5); }
    double position(double coordinate) const;
    void add(std::vector<GridTap>& taps, double at, double weight) const;
    void sample(double coordinate, std::vector<GridTap>& taps) const;
  };

  std::vector<Axis> axes_;
  std::vector<GridTap> taps_, along_, wider_;
};

}  // namespace vernier::ops
