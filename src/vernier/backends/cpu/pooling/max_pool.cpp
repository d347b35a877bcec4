// MaxPool of channels-last int8, and floats of any storage: the largest of each window, channel by channel.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/support/nn/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pooling/max_pool.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"

#ifndef VERNIER_MAX_POOL_LINE
#define VERNIER_MAX_POOL_LINE
namespace vernier::cpu {

// The taps of a window that lie in the image.
struct Inside {
  Inside(const ops::WindowAxis& axis, int64_t window) : last(axis.kernel) {
    while (first < last && axis.at(window, first) < 0) ++first;
    while (last > first && axis.at(window, last - 1) >= axis.input) --last;
  }
  int64_t count() const { return last - first; }
  int64_t first = 0, last;
};

// The windows of a line of the output.
struct PoolLine {
  ElementType element;
  const std::byte* from;   // the first line of the windows in the image
  int64_t rows, row_step;  // lines of the windows; bytes from one to the next
  const ops::WindowAxis* axis;
  int64_t channels;
  std::byte* to;
};

}  // namespace vernier::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// One window, as far as it lies in the image.
struct Window {
  const std::byte* first;        // channel 0 of the first pixel
  int64_t rows, columns;         // pixels
  int64_t row_step, pixel_step;  // bytes
  int64_t channels;
  std::byte* to;

  template <class T, class Body>
  HWY_INLINE void for_each_pixel(const Body& body) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        body(reinterpret_cast<const T*>(first + row * row_step + column * pixel_step));
    }
  }
};

template <ElementType kElement>
struct LargestFloats {
  static HWY_INLINE void of(const Window& w) {
    for_each_stored(w.channels, [&](int64_t channel, const auto& vector) HWY_ATTR {
      Vec best = hn::Neg(hn::Inf(Floats()));
      w.for_each_pixel<std::byte>([&](const std::byte* pixel) HWY_ATTR {
        const Vec x = vector.load(kElement, pixel, channel);
        best = hn::IfThenElse(hn::Or(hn::Gt(x, best), hn::IsNaN(x)), x, best);  // a NaN wins
      });
      vector.store(best, kElement, w.to, channel);
    });
  }
};

// Integers in whose order the numbers are.
template <class T>
struct Bytes {
  using Integer = T;
  template <class D>
  struct Best {
    hn::Vec<D> best;
    HWY_INLINE Best() : best(hn::Set(D(), std::numeric_limits<T>::lowest())) {}
    HWY_INLINE void add(hn::Vec<D> x) { best = hn::Max(best, x); }
    HWY_INLINE hn::Vec<D> result() const { return best; }
  };
};

// Bits of the numbers but the sign count up from 0 in either direction.
struct BFloat16Bits {
  using Integer = int16_t;
  template <class D>
  struct Best {
    static constexpr int16_t kMagnitude = 0x7FFF, kInfinity = 0x7F80, kNan = 0x7FC0, kLeast = -kInfinity - 1;
    hn::Vec<D> best, most;  // most: of magnitudes, of which a NaN has more than Inf
    HWY_INLINE Best() : best(hn::Set(D(), kLeast)), most(hn::Zero(D())) {}

    static HWY_INLINE hn::Vec<D> ordered(hn::Vec<D> bits) {
      return hn::Xor(bits, hn::And(hn::ShiftRight<15>(bits), hn::Set(D(), kMagnitude)));
    }
    HWY_INLINE void add(hn::Vec<D> x) {
      best = hn::Max(best, ordered(x));
      most = hn::Max(most, hn::And(x, hn::Set(D(), kMagnitude)));
    }
    HWY_INLINE hn::Vec<D> result() const {
      return hn::IfThenElse(hn::Gt(most, hn::Set(D(), kInfinity)), hn::Set(D(), kNan), ordered(best));
    }
  };
};

template <class Numbers>
struct LargestIntegers {
  using T = typename Numbers::Integer;
  // In vectors of up to kLanes; the last one ends with the channels.
  template <size_t kLanes = 64 / sizeof(T)>
  static HWY_INLINE void of(const Window& w) {
    const hn::CappedTag<T, kLanes> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if constexpr (kLanes > 1) {
      if (w.channels < lanes) return of<kLanes / 2>(w);
    }
    for (int64_t next = 0; next < w.channels; next += lanes) {
      const int64_t channel = std::min(next, w.channels - lanes);
      typename Numbers::template Best<hn::CappedTag<T, kLanes>> best;
      w.for_each_pixel<T>([&](const T* pixel) HWY_ATTR { best.add(hn::LoadU(d, pixel + channel)); });
      hn::StoreU(best.result(), d, reinterpret_cast<T*>(w.to) + channel);
    }
  }
};

template <class Largest>
void largest_of_line(const PoolLine& line) {
  const ops::WindowAxis& axis = *line.axis;
  const int64_t pixel = line.channels * static_cast<int64_t>(element_size(line.element));
  for (int64_t x = 0; x < axis.output; ++x) {
    const Inside columns(axis, x);
    Largest::of(Window{line.from + axis.at(x, columns.first) * pixel, line.rows, columns.count(),
                       line.row_step, axis.dilation * pixel, line.channels, line.to + x * pixel});
  }
}

}  // namespace

void largest_of_windows(const PoolLine& line) {
  switch (line.element) {
    case ElementType::kUint8: return largest_of_line<LargestIntegers<Bytes<uint8_t>>>(line);
    case ElementType::kInt8: return largest_of_line<LargestIntegers<Bytes<int8_t>>>(line);
    case ElementType::kFloat16: return largest_of_line<LargestFloats<ElementType::kFloat16>>(line);
    case ElementType::kBFloat16: return largest_of_line<LargestIntegers<BFloat16Bits>>(line);
    default: return largest_of_line<LargestFloats<ElementType::kFloat>>(line);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(largest_of_windows);

namespace {

class MaxPool : public Kernel {
 public:
  MaxPool(const Operand& x, const ops::WindowAxes& axes)
      : element_(x.element),
        batch_(x.dims[0]),
        channels_(x.dims[1]),
        y_(axes.size() == 1 ? ops::WindowAxis() : axes.front()),
        x_(axes.back()) {
    name = "cpu:max_pool";
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 14;  // comparisons worth a thread
    const int64_t each = x_.output * channels_ * x_.kernel * y_.kernel;
    parallel(batch_ * y_.output, std::max<int64_t>(1, kGrain / each), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) run_line(arguments, line);
    });
  }

 private:
  void run_line(const KernelArguments& arguments, int64_t line) const {
    const int64_t pixel = channels_ * static_cast<int64_t>(element_size(element_));
    const int64_t image = line / y_.output, y = line % y_.output;
    const Inside rows(y_, y);
    const auto* from = static_cast<const std::byte*>(arguments.inputs[0]) +
                       (image * y_.input + y_.at(y, rows.first)) * x_.input * pixel;
    auto* to = static_cast<std::byte*>(arguments.outputs[0]) + line * x_.output * pixel;
    HWY_DYNAMIC_DISPATCH(largest_of_windows)
    ({element_, from, rows.count(), y_.dilation * x_.input * pixel, &x_, channels_, to});
  }

  ElementType element_;
  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const bool is_served = is_float_storage(x.element) || is_8bit(x.element);
  if (!is_served || x.layout != Layout::kChannelsLast || x.rank() < 3 || x.rank() > 4 ||
      request.out().layout != x.layout || request.wants(1)) {
    reason = "no channels-last image of floats or int8";
    return nullptr;
  }
  return std::make_unique<MaxPool>(x, ops::pool_axes(request.node, x.dims));
}

}  // namespace

void register_max_pool(KernelRegistry& registry) {
  registry.add({"", "MaxPool", LayoutRule::kImage, Priority::kOwn, make});
}

}  // namespace vernier::cpu
#endif
