// QLinearAveragePool: the sums under its windows are of integers, exact.
#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantized/quantized_value.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/pool.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

constexpr size_t kAxes = 3;
constexpr int64_t kChannelBlock = 64;

// Images that lie channels-last.
class QuantizedAverage : public Kernel {
 public:
  QuantizedAverage(const Dims& dims, ops::WindowAxes axes, ElementType type, const Affine& x,
                   const Quantizer& quantize, bool counts_padding)
      : axes_(std::move(axes)),
        images_(dims[0]),
        channels_(dims[1]),
        type_(type),
        x_(x),
        quantize_(quantize),
        counts_padding_(counts_padding) {
    name = "cpu:quantized_average";
    contract = {ElementType::kDouble, ElementType::kInt32, type, NumericsContract::Order::kBlocked};
    axes_.insert(axes_.begin(), kAxes - axes_.size(), ops::WindowAxis());
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const uint8_t*>(arguments.inputs[kX]);
    auto* y = static_cast<uint8_t*>(arguments.outputs[0]);
    const int64_t windows = ops::output_count(axes_), pixels = ops::input_count(axes_);
    constexpr int64_t kGrain = 1 << 14;
    parallel(images_ * windows, std::max<int64_t>(1, kGrain / (channels_ * ops::tap_count(axes_) + 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 for (int64_t c = 0; c < channels_; c += kChannelBlock)
                   average(x + i / windows * pixels * channels_ + c, i % windows,
                           std::min(kChannelBlock, channels_ - c), y + i * channels_ + c);
               }
             });
  }

 private:
  // Taps of one axis that lie inside the image, or inside the padding.
  struct Taps {
    int64_t first, last, counted;  // first and last: pixels; counted: taps that the mean is of

    Taps(const ops::WindowAxis& axis, int64_t window, bool counts_padding) : first(-1), last(-1), counted(0) {
      for (int64_t tap = 0; tap < axis.kernel; ++tap) {
        const int64_t at = axis.at(window, tap);
        const bool inside = at >= 0 && at < axis.input;
        if (inside && first < 0) first = at;
        if (inside) last = at;
        counted +=
            inside || (counts_padding && at >= -axis.pad_begin && at < axis.input + axis.pad_end) ? 1 : 0;
      }
    }
    int64_t count(const ops::WindowAxis& axis) const {
      return first < 0 ? 0 : (last - first) / axis.dilation + 1;
    }
  };

  void average(const uint8_t* image, int64_t window, int64_t count, uint8_t* y) const {
    const auto &az = axes_[0], &ay = axes_[1], &ax = axes_[2];
    const Taps zs(az, window / (ay.output * ax.output), counts_padding_),
        ys(ay, window / ax.output % ay.output, counts_padding_), xs(ax, window % ax.output, counts_padding_);
    const int64_t inside = zs.count(az) * ys.count(ay) * xs.count(ax);
    int32_t sums[kChannelBlock] = {}, row[kChannelBlock];
    for (int64_t z = zs.first; inside > 0 && z <= zs.last; z += az.dilation) {
      for (int64_t at = ys.first; at <= ys.last; at += ay.dilation) {
        sum_int8_rows(image + ((z * ay.input + at) * ax.input + xs.first) * channels_, xs.count(ax),
                      ax.dilation * channels_, count, type_ == ElementType::kInt8, row);
        for (int64_t c = 0; c < count; ++c) sums[c] += row[c];
      }
    }
    const double moved = static_cast<double>(inside) * x_.zero_point;
    const auto counted = static_cast<double>(zs.counted * ys.counted * xs.counted);
    for (int64_t c = 0; c < count; ++c) y[c] = quantize_((sums[c] - moved) * x_.scale / counted);
  }

  ops::WindowAxes axes_;  // three
  int64_t images_, channels_;
  ElementType type_;
  Affine x_;
  Quantizer quantize_;
  bool counts_padding_;
};

std::unique_ptr<Kernel> make_quantized_average(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(kX), &y = request.out();
  const auto from = known_affine(request, kXScale, kXZeroPoint),
             to = known_affine(request, kYScale, kYZeroPoint);
  const bool last = ops::integer_attribute(request.node, "channels_last") != 0;
  const Layout wanted = last ? Layout::kPlain : Layout::kChannelsLast;
  reason = "means of int8 with known parameters, of images that lie channels-last";
  if (!from || !to || !is_8bit(x.element) || x.element != y.element || x.rank() < 3 || x.rank() > 5 ||
      x.layout != wanted || y.layout != wanted || x.size() == 0)
    return nullptr;
  const Dims dims = last ? ops::channels_first(x.dims) : x.dims;
  return std::make_unique<QuantizedAverage>(dims, ops::pool_axes(request.node, dims), x.element, *from,
                                            Quantizer(*to, y.element),
                                            ops::integer_attribute(request.node, "count_include_pad") != 0);
}

}  // namespace

void register_quantized_average(KernelRegistry& registry) {
  registry.add(
      {"com.microsoft", "QLinearAveragePool", LayoutRule::kImage, Priority::kOwn, make_quantized_average});
}

}  // namespace vernier::cpu
