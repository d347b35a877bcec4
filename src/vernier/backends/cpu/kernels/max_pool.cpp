// MaxPool of channels-last floats of any storage: the largest of each window, channel by channel.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/max_pool.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/storage_vectors-inl.h"

#ifndef VERNIER_MAX_POOL_WINDOW
#define VERNIER_MAX_POOL_WINDOW
namespace vernier::cpu {

// One window, as far as it lies in the image.
struct PoolWindow {
  ElementType element;
  const void* first;             // channel 0 of the first pixel
  int64_t rows, columns;         // pixels
  int64_t row_step, pixel_step;  // elements
  void* to;
  int64_t channels;
};

}  // namespace vernier::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

template <ElementType kElement>
void largest_of(const PoolWindow& w) {
  for_each_stored(w.channels, [&](int64_t channel, const auto& vector) HWY_ATTR {
    Vec best = hn::Neg(hn::Inf(Floats()));
    for (int64_t row = 0; row < w.rows; ++row) {
      for (int64_t column = 0; column < w.columns; ++column) {
        const Vec x = vector.load(kElement, w.first, row * w.row_step + column * w.pixel_step + channel);
        best = hn::IfThenElse(hn::Or(hn::Gt(x, best), hn::IsNaN(x)), x, best);  // a NaN wins
      }
    }
    vector.store(best, kElement, w.to, channel);
  });
}

}  // namespace

void largest_of_window(const PoolWindow& window) {
  switch (window.element) {
    case ElementType::kFloat16: return largest_of<ElementType::kFloat16>(window);
    case ElementType::kBFloat16: return largest_of<ElementType::kBFloat16>(window);
    default: return largest_of<ElementType::kFloat>(window);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(largest_of_window);

namespace {

// The taps of a window that lie in the image.
struct Inside {
  int64_t first, count;
};

Inside inside(const ops::WindowAxis& axis, int64_t window) {
  int64_t first = 0, last = axis.kernel;
  while (first < last && axis.at(window, first) < 0) ++first;
  while (last > first && axis.at(window, last - 1) >= axis.input) --last;
  return {first, last - first};
}

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
    const auto size = static_cast<int64_t>(element_size(element_));
    const int64_t image = line / y_.output, y = line % y_.output;
    const auto* from = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* to = static_cast<std::byte*>(arguments.outputs[0]) + line * x_.output * channels_ * size;
    const Inside rows = inside(y_, y);
    for (int64_t x = 0; x < x_.output; ++x, to += channels_ * size) {
      const Inside columns = inside(x_, x);
      const int64_t row = image * y_.input + y_.at(y, rows.first), column = x_.at(x, columns.first);
      HWY_DYNAMIC_DISPATCH(largest_of_window)
      ({element_, from + (row * x_.input + column) * channels_ * size, rows.count, columns.count,
        y_.dilation * x_.input * channels_, x_.dilation * channels_, to, channels_});
    }
  }

  ElementType element_;
  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (!is_float_storage(x.element) || x.layout != Layout::kChannelsLast || x.rank() < 3 || x.rank() > 4 ||
      request.out().layout != x.layout || request.wants(1)) {
    reason = "no channels-last image of floats";
    return nullptr;
  }
  return std::make_unique<MaxPool>(x, ops::pool_axes(request.node, x.dims));
}

}  // namespace

void register_max_pool(KernelRegistry& registry) {
  registry.add({"", "MaxPool", LayoutRule::kImage, make});
}

}  // namespace vernier::cpu
#endif
