#include <array>
#include <cmath>

#include "vernier/evaluate/metrics/metrics.h"

namespace vernier {

namespace {

// Compares an output with what it should be, element by element.
class ImageMetric : public TaskMetric {
 public:
  ImageMetric(const MetricOptions& options, double peak)
      : TaskMetric(options.name), output_(options.output), peak_(peak) {}

  Needs needs() const override { return Needs::kEither; }
  size_t rows(const NamedData& outputs) const override {
    const Tensor& output = output_of(outputs, output_);
    return output.rank() == 0 ? 1 : static_cast<size_t>(output.dims().front());
  }
  RowScores score(const ScoredSample& sample) override {
    const Tensor& made = output_of(sample.outputs, output_);
    const Tensor& wanted = wanted_of(sample, output_);
    const size_t count = rows(sample.outputs);
    RowScores scores;
    const auto given = made.to_doubles(), right = wanted.to_doubles();
    const size_t area = count == 0 ? 0 : given.size() / count;
    for (size_t row = 0; row < count; ++row) {
      const std::span<const double> a(given.data() + row * area, area), b(right.data() + row * area, area);
      scores.push_back(score_of(a, b, made.dims(), peak_ > 0 ? peak_ : peak_of(wanted.type())));
    }
    return scores;
  }

 protected:
  virtual RowScore score_of(std::span<const double> made, std::span<const double> wanted, const Dims& dims,
                            double peak) const = 0;
  static double mean_square(std::span<const double> made, std::span<const double> wanted) {
    double sum = 0;
    for (size_t i = 0; i < made.size(); ++i) sum += (made[i] - wanted[i]) * (made[i] - wanted[i]);
    return made.empty() ? 0 : sum / static_cast<double>(made.size());
  }

 private:
  static double peak_of(ElementType type) {
    return is_float(type) ? 1 : static_cast<double>(integer_max(type));
  }

  std::string output_;
  double peak_;
};

// Images that are equal have this many dB, so that means stay finite; NaN has none.
constexpr double kMostDecibels = 100;

class Psnr : public ImageMetric {
 public:
  using ImageMetric::ImageMetric;
  Kind kind() const override { return Kind::kMean; }
  std::string unit() const override { return "dB"; }
  std::string description() const override { return fmt::format("equal images: {} dB", kMostDecibels); }

 protected:
  RowScore score_of(std::span<const double> made, std::span<const double> wanted, const Dims& /*dims*/,
                    double peak) const override {
    const double decibels = 10 * std::log10(peak * peak / mean_square(made, wanted));
    return {.value = std::isnan(decibels) ? 0 : std::min(decibels, kMostDecibels)};
  }
};

class Rmse : public ImageMetric {
 public:
  using ImageMetric::ImageMetric;
  Kind kind() const override { return Kind::kPooled; }
  bool higher_is_better() const override { return false; }
  std::string unit() const override { return "of the output"; }
  std::string description() const override { return "the root of the mean of squares over all rows"; }

  bool takes(const RowScores& rows) const override { return have_numbers(rows, 1); }
  RowStatistic over(const RowScores& rows) const override {
    return [&rows](std::span<const uint32_t> counts) {
      double sum = 0, elements = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        if (counts[i] == 0) continue;
        sum += counts[i] * rows[i].numbers[0];
        elements += counts[i];
      }
      return std::sqrt(sum / elements);
    };
  }

 protected:
  RowScore score_of(std::span<const double> made, std::span<const double> wanted, const Dims& /*dims*/,
                    double /*peak*/) const override {
    const double square = mean_square(made, wanted);
    return {.value = std::sqrt(square), .numbers = {square}};
  }
};

// Wang et al., "Image quality assessment: from error visibility to structural similarity" (2004): a Gaussian
// of deviation 1.5 in a window of 11, where the window fits, and the mean over channels.
class Ssim : public ImageMetric {
 public:
  using ImageMetric::ImageMetric;
  Kind kind() const override { return Kind::kMean; }

 protected:
  RowScore score_of(std::span<const double> made, std::span<const double> wanted, const Dims& dims,
                    double peak) const override {
    const auto [channels, height, width, step, plane] = plane_of(dims);
    double sum = 0;
    for (size_t c = 0; c < channels; ++c) {
      Plane a(height, width), b(height, width);
      for (size_t i = 0; i < height * width; ++i) {
        a.values[i] = made[c * plane + i * step];
        b.values[i] = wanted[c * plane + i * step];
      }
      sum += similarity(a, b, peak) / static_cast<double>(channels);
    }
    return {.value = std::isnan(sum) ? 0 : sum};
  }

 private:
  static constexpr size_t kWindow = 11;

  struct Plane {
    Plane(size_t rows, size_t columns) : height(rows), width(columns), values(rows * columns) {}
    size_t height, width;
    std::vector<double> values;
  };
  struct Layout {
    size_t channels, height, width, step, plane;
  };

  // Finds the planes of a row [channels, height, width], [height, width, channels] or [height, width].
  static Layout plane_of(const Dims& dims) {
    const auto at = [&](size_t axis) { return static_cast<size_t>(dims[axis]); };
    Layout layout{};
    if (dims.size() == 3)
      layout = {1, at(1), at(2), 1, 0};
    else if (dims.size() == 4 && (at(3) == 1 || at(3) == 3) && at(1) > 3)
      layout = {at(3), at(1), at(2), at(3), 1};
    else if (dims.size() == 4)
      layout = {at(1), at(2), at(3), 1, at(2) * at(3)};
    if (layout.height < kWindow || layout.width < kWindow)
      throw bad_input(
          "--metric ssim needs images [rows, channels, height, width] of {}x{} pixels at least, not {}",
          kWindow, kWindow, dims_text(dims));
    return layout;
  }

  static Plane blurred(const Plane& from) {
    static const std::array<double, kWindow> weights = [] {
      std::array<double, kWindow> result{};
      double sum = 0;
      for (size_t i = 0; i < kWindow; ++i) {
        const double x = static_cast<double>(i) - (kWindow - 1) / 2.0;
        sum += result[i] = std::exp(-x * x / (2 * 1.5 * 1.5));
      }
      for (double& each : result) each /= sum;
      return result;
    }();
    Plane across(from.height, from.width - kWindow + 1);
    for (size_t y = 0; y < across.height; ++y) {
      for (size_t x = 0; x < across.width; ++x) {
        for (size_t i = 0; i < kWindow; ++i)
          across.values[y * across.width + x] += weights[i] * from.values[y * from.width + x + i];
      }
    }
    Plane down(from.height - kWindow + 1, across.width);
    for (size_t y = 0; y < down.height; ++y) {
      for (size_t i = 0; i < kWindow; ++i) {
        for (size_t x = 0; x < down.width; ++x)
          down.values[y * down.width + x] += weights[i] * across.values[(y + i) * across.width + x];
      }
    }
    return down;
  }

  static Plane product(const Plane& a, const Plane& b) {
    Plane result(a.height, a.width);
    for (size_t i = 0; i < a.values.size(); ++i) result.values[i] = a.values[i] * b.values[i];
    return result;
  }

  static double similarity(const Plane& a, const Plane& b, double peak) {
    const double c1 = std::pow(0.01 * peak, 2), c2 = std::pow(0.03 * peak, 2);
    const Plane mean_a = blurred(a), mean_b = blurred(b), aa = blurred(product(a, a)),
                bb = blurred(product(b, b)), ab = blurred(product(a, b));
    double sum = 0;
    for (size_t i = 0; i < aa.values.size(); ++i) {
      const double ma = mean_a.values[i], mb = mean_b.values[i];
      const double va = aa.values[i] - ma * ma, vb = bb.values[i] - mb * mb,
                   covariance = ab.values[i] - ma * mb;
      sum += (2 * ma * mb + c1) * (2 * covariance + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
    }
    return sum / static_cast<double>(aa.values.size());
  }
};

}  // namespace

std::unique_ptr<TaskMetric> make_psnr(const MetricOptions& options, double peak) {
  return std::make_unique<Psnr>(options, peak);
}

std::unique_ptr<TaskMetric> make_ssim(const MetricOptions& options, double peak) {
  return std::make_unique<Ssim>(options, peak);
}

std::unique_ptr<TaskMetric> make_rmse(const MetricOptions& options) {
  return std::make_unique<Rmse>(options, 0);
}

}  // namespace vernier
