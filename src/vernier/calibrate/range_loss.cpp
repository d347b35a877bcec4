#include "vernier/calibrate/range_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vernier {

namespace {

std::vector<double> integer_values(const ScaleEntry& entry) {
  std::vector<double> values;
  for (int64_t code = integer_min(entry.type); code <= static_cast<int64_t>(integer_max(entry.type)); ++code)
    values.push_back(static_cast<double>(code - entry.zero_point) * entry.scale);
  return values;
}

std::vector<double> float8_values(double scale) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto code = Float8E4M3FN::from_bits(bits);
    if (!code.is_nan()) values.push_back(static_cast<double>(code) * scale);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());  // there are two zeros
  return values;
}

// The values that become one code lie between edges: edges[i] and edges[i + 1] for code i. The outermost are
// as far from their codes as the others are; what lies beyond is clipped.
std::vector<double> cell_edges(const std::vector<double>& codes) {
  std::vector<double> edges(codes.size() + 1);
  for (size_t i = 1; i < codes.size(); ++i) edges[i] = (codes[i - 1] + codes[i]) / 2;
  edges.front() = 2 * codes.front() - edges[1];
  edges.back() = 2 * codes.back() - edges[codes.size() - 1];
  return edges;
}

// Calls visit(bin, cell, overlap) where a bin and a cell meet, in order.
template <class Visit>
void for_each_overlap(const Bins& bins, const std::vector<double>& edges, const Visit& visit) {
  size_t cell = 0;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    while (cell + 1 < edges.size() && edges[cell + 1] <= bins[bin].from) ++cell;
    for (size_t i = cell; i + 1 < edges.size() && edges[i] < bins[bin].to; ++i) {
      const double overlap = std::min(bins[bin].to, edges[i + 1]) - std::max(bins[bin].from, edges[i]);
      if (overlap > 0) visit(bin, i, overlap);
    }
  }
}

// Two distributions over the same bins, neither of them normed.
struct Distributions {
  std::vector<double> values;    // clipped ones are added to the last bin that is not, at either end
  std::vector<double> by_codes;  // without clipped ones
  bool loses_end = false;        // values are clipped to a code that no other value has

  Distributions(const Bins& bins, const std::vector<double>& edges)
      : values(bins.size()), by_codes(bins.size()) {
    const size_t cells = edges.size() - 1;
    std::vector<double> mass(cells), width(cells);
    for_each_overlap(bins, edges, [&](size_t bin, size_t cell, double overlap) {
      const double inside = static_cast<double>(bins[bin].count) * overlap / (bins[bin].to - bins[bin].from);
      mass[cell] += inside;
      width[cell] += overlap;
      values[bin] += inside;
    });
    for_each_overlap(bins, edges, [&](size_t bin, size_t cell, double overlap) {
      by_codes[bin] += mass[cell] * overlap / width[cell];
    });
    fold_clipped(bins, edges, mass);
  }

 private:
  void fold_clipped(const Bins& bins, const std::vector<double>& edges, const std::vector<double>& mass) {
    double below = 0, above = 0;
    size_t first = bins.size(), last = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      const double outside = static_cast<double>(bins[i].count) - values[i];
      const bool low = bins[i].from < edges.front();
      // A bin that no clipping has touched differs by roundings only.
      if (low)
        below += outside;
      else if (bins[i].to > edges.back())
        above += outside;
      if (values[i] <= 0) continue;
      first = std::min(first, i);
      last = i;
    }
    loses_end = (below > 0 && mass.front() <= 0) || (above > 0 && mass.back() <= 0);
    if (loses_end || first == bins.size()) return;
    values[first] += below;
    values[last] += above;
  }
};

}  // namespace

std::vector<double> code_values(const ScaleEntry& entry) {
  return is_integer(entry.type) ? integer_values(entry) : float8_values(entry.scale);
}

double square_error(const Bins& bins, const ScaleEntry& entry) {
  const auto codes = code_values(entry);
  double sum = 0;
  size_t code = 0;
  for (const RangeHistogram::Bin& bin : bins) {
    const double value = (bin.from + bin.to) / 2;
    while (code + 1 < codes.size() && codes[code + 1] - value <= value - codes[code]) ++code;
    const double error = value - codes[code];
    sum += static_cast<double>(bin.count) * error * error;
  }
  return sum;
}

double code_divergence(const Bins& bins, const ScaleEntry& entry) {
  const Distributions both(bins, cell_edges(code_values(entry)));
  if (both.loses_end) return std::numeric_limits<double>::infinity();
  double all = 0, coded = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    all += both.values[i];
    coded += both.by_codes[i];
  }
  double sum = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    const double value = both.values[i] / all, by_code = both.by_codes[i] / coded;
    if (value > 0) sum += value * std::log(value / by_code);
  }
  return sum;
}

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
