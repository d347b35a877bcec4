#include "vernier/backends/cpu/depthwise/pair_depthwise.h"

#include <algorithm>

#include "vernier/backends/cpu/epilogue/integer_block_epilogue.h"
#include "vernier/backends/cpu/int8_gemm/pair_block.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kMostPixels = 32;  // at a time

// Weights [block of channels][tap][channel] of an even number of taps.
std::vector<int16_t> arranged(const Tensor& weights, int64_t channels, int64_t taps,
                              const std::vector<int32_t>& zero_points) {
  const int64_t blocks = (channels + kPairColumns - 1) / kPairColumns, all = 2 * pairs_of(taps);
  std::vector<int16_t> result(static_cast<size_t>(blocks * all * kPairColumns));
  const auto* from = static_cast<const uint8_t*>(weights.raw());
  const bool is_signed = weights.type() == ElementType::kInt8;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const int32_t zero =
        zero_points.empty() ? 0 : zero_points.at(zero_points.size() == 1 ? 0 : static_cast<size_t>(channel));
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t byte = from[channel * taps + tap];
      const int64_t at = (channel / kPairColumns * all + tap) * kPairColumns + channel % kPairColumns;
      result[static_cast<size_t>(at)] =
          static_cast<int16_t>((is_signed ? static_cast<int8_t>(byte) : byte) - zero);
    }
  }
  return result;
}

struct DepthwiseWork {
  size_t input;
  bool is_signed;
  int32_t zero_point;  // what stands for 0
  std::vector<int16_t> weights;
  // The input that holds the zero point instead, an int32, whose products with the weights are taken off each
  // channel's sums; -1: those that finish the sums take off what is known.
  int zero_input = -1;
};

// Adds up the weights of each channel, in the order of arranged().
std::vector<int64_t> sums_of(const std::vector<int16_t>& weights, int64_t channels, int64_t taps) {
  std::vector<int64_t> sums(static_cast<size_t>(channels));
  for (int64_t channel = 0; channel < channels; ++channel) {
    const int64_t block = channel / kPairColumns * 2 * pairs_of(taps) * kPairColumns;
    for (int64_t tap = 0; tap < taps; ++tap)
      sums[static_cast<size_t>(channel)] +=
          weights[static_cast<size_t>(block + tap * kPairColumns + channel % kPairColumns)];
  }
  return sums;
}

class PairDepthwiseKernel : public Kernel {
 public:
  PairDepthwiseKernel(const ops::Convolution& shape, DepthwiseWork work,
                      std::unique_ptr<const BlockEpilogue> finish)
      : windows_(PairWindows::of_convolution(shape)),
        channels_(shape.groups),
        pairs_(pairs_of(windows_.taps())),
        work_(std::move(work)),
        epilogue_(std::move(finish)),
        sums_(sums_of(work_.weights, channels_, windows_.taps())) {
    name = "cpu:int16_pairs:depthwise";
    if (epilogue_->in_place() != static_cast<int>(work_.input)) in_place = epilogue_->in_place();
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return input == work_.input || index == work_.zero_input || epilogue_->reads(index);
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 15;  // products of a thread
    const int64_t each = channels_ * windows_.taps();
    const int32_t zero = work_.zero_input < 0
                             ? work_.zero_point
                             : *static_cast<const int32_t*>(arguments.inputs[work_.zero_input]);
    const std::vector<uint8_t> padding(static_cast<size_t>(channels_ + kPairSlack),
                                       static_cast<uint8_t>(zero));
    std::vector<int32_t> initial;  // empty: those of the epilogue
    if (work_.zero_input >= 0) {
      initial.resize(static_cast<size_t>(channels_ + kPairColumns));
      for (size_t i = 0; i < sums_.size(); ++i) initial[i] = static_cast<int32_t>(-zero * sums_[i]);
    }
    const auto* images = static_cast<const uint8_t*>(arguments.inputs[work_.input]);
    const Run run{arguments, padding.data(), images + windows_.bytes(),
                  initial.empty() ? nullptr : initial.data()};
    parallel(windows_.rows(), std::max<int64_t>(1, kGrain / each), [&](int64_t begin, int64_t end) {
      Lines lines(kMostPixels * 2 * pairs_);
      for (int64_t row = begin; row < end; row += kMostPixels) {
        const int64_t count = std::min(kMostPixels, end - row);
        find_taps(run, row, count, lines);
        for (int64_t channel = 0; channel < channels_; channel += kPairColumns)
          multiply(run, lines, row, count, channel);
      }
    });
  }

 private:
  struct Run {
    const KernelArguments& arguments;
    const uint8_t *padding, *end;
    const int32_t* initial;
  };

  // Pixels side by side whose taps are as far apart, and those of the first.
  struct Lines {
    explicit Lines(int64_t most) : taps(static_cast<size_t>(most)), steps(static_cast<size_t>(most)) {}

    std::vector<const uint8_t*> taps;  // [lines, 2 * pairs]
    std::vector<int64_t> steps;        // the same
    std::array<int64_t, kMostPixels> pixels;
    size_t count;
    bool reads_beyond;  // PairDepthwise::reads_beyond
  };

  void find_taps(const Run& run, int64_t first, int64_t count, Lines& lines) const {
    const ops::WindowAxis& x = windows_.axes[2];
    const uint8_t* highest = nullptr;  // the end of the image's lines that are read
    const auto size = static_cast<size_t>(2 * pairs_);
    WindowPlace place(windows_, first);
    bool was_inside = false;
    lines.count = 0;
    for (int64_t i = 0; i < count; ++i, place.advance()) {
      const int64_t ox = place.at[2];
      const bool is_inside = x.at(ox, 0) >= 0 && x.at(ox, x.kernel - 1) < x.input;
      if (is_inside && was_inside && ox > 0) {
        ++lines.pixels[lines.count - 1];
        continue;
      }
      const uint8_t** taps = lines.taps.data() + lines.count * size;
      highest = std::max(highest, find_taps(run, place, taps));
      std::transform(taps, taps + size, lines.steps.data() + lines.count * size,
                     [&](const uint8_t* tap) { return tap == run.padding ? 0 : x.stride * channels_; });
      lines.pixels[lines.count++] = 1;
      was_inside = is_inside;
    }
    lines.reads_beyond = highest == nullptr || run.end - highest >= kPairSlack / 2;
  }

  // Finds the taps of one output, and the end of the last line that it reads; null: it reads none.
  const uint8_t* find_taps(const Run& run, const WindowPlace& place, const uint8_t** to) const {
    const auto* images = static_cast<const uint8_t*>(run.arguments.inputs[work_.input]);
    const auto& [z, y, x] = windows_.axes;
    const auto& [oz, oy, ox] = place.at;
    const uint8_t* highest = nullptr;
    const int64_t left = x.at(ox, 0), line_size = x.input * channels_;
    for (int64_t kz = 0; kz < z.kernel; ++kz) {
      for (int64_t ky = 0; ky < y.kernel; ++ky) {
        const int64_t iz = z.at(oz, kz), iy = y.at(oy, ky);
        // Outside of the image no column is inside.
        const bool inside = iz >= 0 && iz < z.input && iy >= 0 && iy < y.input;
        const int64_t width = inside ? x.input : 0;
        const uint8_t* line = images + ((place.image * z.input + iz) * y.input + iy) * line_size;
        if (inside) highest = std::max(highest, line + line_size);
        for (int64_t ix = left; ix < left + x.kernel * x.dilation; ix += x.dilation)
          *to++ = ix >= 0 && ix < width ? line + ix * channels_ : run.padding;
      }
    }
    if (windows_.taps() % 2 != 0) *to++ = run.padding;  // its weights are 0
    return highest;
  }

  void multiply(const Run& run, const Lines& lines, int64_t row, int64_t count, int64_t channel) const {
    alignas(64) std::array<int32_t, kMostPixels * kPairColumns> sums;
    const void* initial = run.initial != nullptr ? run.initial + channel : epilogue_->initial(channel);
    const int64_t channels = std::min(kPairColumns, channels_ - channel);
    const auto size = static_cast<size_t>(2 * pairs_);
    int32_t* to = sums.data();
    for (size_t line = 0; line < lines.count; to += lines.pixels[line++] * kPairColumns)
      sum_depthwise({lines.taps.data() + line * size, lines.steps.data() + line * size, run.padding, run.end,
                     lines.reads_beyond, lines.pixels[line], pairs_, channel, channels, work_.is_signed,
                     work_.weights.data() + channel * 2 * pairs_, static_cast<const int32_t*>(initial), to});
    epilogue_->finish(run.arguments, {sums.data(), kPairColumns, row, channel, count, channels});
  }

  PairWindows windows_;
  int64_t channels_, pairs_;
  DepthwiseWork work_;
  std::unique_ptr<const BlockEpilogue> epilogue_;
  std::vector<int64_t> sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_pair_depthwise(const KernelRequest& request, const QuantizedProduct& product,
                                            const ops::Convolution& shape, std::string& reason) {
  reason = "no group of one channel";
  if (!is_depthwise(shape)) return nullptr;
  const Operand& x = request.in(product.a);
  const int64_t taps = ops::tap_count(shape.axes);
  const std::vector<int32_t> zeros(product.b_zero_points.begin(), product.b_zero_points.end());
  auto weights = arranged(*request.in(product.b).constant, shape.groups, taps, zeros);
  const IntegerSums sums{sums_of(weights, shape.groups, taps), taps};
  auto epilogue = IntegerEpilogue::of(product, request, sums, 1, reason);
  if (!epilogue) return nullptr;
  auto kernel = std::make_unique<PairDepthwiseKernel>(
      shape,
      DepthwiseWork{product.a, x.element == ElementType::kInt8,
                    static_cast<int32_t>(product.a_affine.zero_point), std::move(weights)},
      std::make_unique<IntegerBlockEpilogue>(std::move(*epilogue)));
  kernel->contract = {ElementType::kFloat, ElementType::kInt32, request.out().element,
                      NumericsContract::Order::kBlocked};
  return kernel;
}

bool is_depthwise(const ops::Convolution& shape) {
  return shape.in_channels == 1 && shape.out_channels == 1 && shape.groups > 1;
}

std::unique_ptr<Kernel> make_pair_depthwise_sums(const Tensor& weights, const ops::Convolution& shape,
                                                 bool is_signed, bool has_zero) {
  const int64_t taps = ops::tap_count(shape.axes);
  // If the zero point is known to be 0, initial accumulators need not subtract it.
  DepthwiseWork work{0, is_signed, 0, arranged(weights, shape.groups, taps, {}), has_zero ? 1 : -1};
  return std::make_unique<PairDepthwiseKernel>(shape, std::move(work),
                                               std::make_unique<NoEpilogue>(shape.groups));
}

}  // namespace vernier::cpu
