#include "vernier/calibrate/range_search.h"

#include <cmath>

namespace vernier {

namespace {

constexpr int kSteps = 128;    // of a whole end
constexpr int kNarrowest = 4;  // so many of them: a 32nd
constexpr int kFineSteps = 8;  // of one step

class RangeSearch {
 public:
  RangeSearch(const RangeEnds& all, ScaleOfRange scale_of, const RangeLoss& loss)
      : all_(all), scale_of_(scale_of), loss_(loss) {}

  ScaleEntry run(bool each_end) {
    consider(1, 1);
    if (!each_end) {
      scan(kSteps, kNarrowest, 1, [&](double part) { consider(part, part); });
      refine(low_part_, [&](double part) { consider(part, part); });
      return best_;
    }
    // One end at a time, twice: the best place of one depends little on that of the other.
    for (int round = 0; round < 2; ++round) {
      scan(kSteps, kNarrowest, 1, [&](double part) { consider(low_part_, part); });
      refine(high_part_, [&](double part) { consider(low_part_, part); });
      scan(kSteps, 0, 1, [&](double part) { consider(part, high_part_); });
      refine(low_part_, [&](double part) { consider(part, high_part_); });
    }
    return best_;
  }

 private:
  template <class Try>
  static void scan(int steps, int last, double whole, const Try& attempt) {
    for (int i = steps; i >= last; --i) attempt(whole * i / steps);
  }

  template <class Try>
  static void refine(double around, const Try& attempt) {
    for (int i = kFineSteps - 1; i > -kFineSteps; --i) {
      const double part = around + static_cast<double>(i) / (kSteps * kFineSteps);
      if (part > 0 && part <= 1) attempt(part);
    }
  }

  void consider(double low_part, double high_part) {
    const ScaleEntry entry = scale_of_(all_.low * low_part, all_.high * high_part);
    const double loss = loss_(entry);
    if (tried_ && !(loss < least_)) return;
    tried_ = true;
    least_ = loss;
    best_ = entry;
    low_part_ = low_part, high_part_ = high_part;
  }

  const RangeEnds& all_;
  ScaleOfRange scale_of_;
  const RangeLoss& loss_;
  bool tried_ = false;
  double least_ = 0, low_part_ = 1, high_part_ = 1;
  ScaleEntry best_;
};

}  // namespace

ScaleEntry best_scale(const RangeEnds& all, bool each_end, ScaleOfRange scale_of, const RangeLoss& loss) {
  if (all.low == 0 && all.high == 0) return scale_of(0, 0);
  return RangeSearch(all, scale_of, loss).run(each_end);
}

}  // namespace vernier
