// MaxPool, AveragePool and the global ones.
#include <atomic>
#include <bit>
#include <limits>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/invalid_operations.h"
#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/exec/kernel_decorator.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/pool.h"

namespace vernier::cpu {

namespace {

struct Windows {
  dnnl::memory::dims strides, kernel, dilations, begin, end;
  bool beyond = false;  // one ends beyond the padding (ceil_mode)
};

Windows windows_of(const Node& node, const Dims& x) {
  Windows result;
  if (node.op.starts_with("Global")) {
    result.kernel.assign(x.begin() + 2, x.end());
    result.strides.assign(x.size() - 2, 1);
    result.dilations = result.begin = result.end = dnnl::memory::dims(x.size() - 2, 0);
    return result;
  }
  for (const auto& axis : ops::pool_axes(node, x)) {
    result.strides.push_back(axis.stride);
    result.kernel.push_back(axis.kernel);
    result.dilations.push_back(axis.dilation - 1);
    result.begin.push_back(axis.pad_begin);
    result.end.push_back((axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 -
                         axis.input - axis.pad_begin);
    result.beyond = result.beyond || result.end.back() > axis.pad_end;
  }
  return result;
}

#if DNNL_VERSION_MAJOR >= 3
using Pooling = dnnl::pooling_forward;
#else
using Pooling = dnnl::pooling_v2_forward;
#endif

Pooling::primitive_desc describe_pool(dnnl::algorithm algorithm, const dnnl::memory::desc& x,
                                      const dnnl::memory::desc& y, const Windows& w,
                                      const dnnl::primitive_attr& attributes) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return {dnnl_engine(), kKind,       algorithm, x,     y,         w.strides,
          w.kernel,      w.dilations, w.begin,   w.end, attributes};
#else
  return {
      {kKind, algorithm, x, y, w.strides, w.kernel, w.dilations, w.begin, w.end}, attributes, dnnl_engine()};
#endif
}

ops::WindowAxes axes_of(const Node& node, const Dims& x) {
  if (!node.op.starts_with("Global")) return ops::pool_axes(node, x);
  ops::WindowAxes axes;
  for (size_t i = 2; i < x.size(); ++i) axes.push_back({.input = x[i], .kernel = x[i]});
  return axes;
}

// oneDNN's largest number leaves NaN out, and where processors round floats to bfloat16, a subnormal one
// becomes zero. Comparing with either raises a flag of the thread, and only then the windows are taken again,
// tap by tap. So are they where the lowest finite number comes out, with which oneDNN begins: all of a window
// may have been -Inf.
class ExactMaxPool : public KernelDecorator {
 public:
  ExactMaxPool(std::unique_ptr<DnnlKernel> pool, const Operand& x, ops::WindowAxes axes)
      : KernelDecorator(std::move(pool)), axes_(std::move(axes)), element_(x.element) {
    scratch_bytes = inner_->scratch_bytes;
    const Dims memory = x.memory_dims();
    lanes_ = x.layout == Layout::kPlain ? 1 : memory.back();
    planes_ = element_count(memory) / (lanes_ * ops::input_count(axes_));
  }

  void run(const KernelArguments& arguments) const override {
    const InvalidOperations inexact(element_ == ElementType::kBFloat16);
    inner_->run(arguments);
    const bool lowest = element_ == ElementType::kFloat
                            ? holds<float>(arguments, std::numeric_limits<float>::lowest())
                            : holds<uint16_t>(arguments, kLowestBFloat16);
    if (!inexact.seen() && !lowest) return;
    if (element_ == ElementType::kFloat)
      take<float>(arguments, [](float value) { return value; });
    else
      take<uint16_t>(arguments,
                     [](uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); });
  }

 private:
  static constexpr uint16_t kLowestBFloat16 = 0xFF7F;

  template <class T>
  bool holds(const KernelArguments& arguments, T wanted) const {
    constexpr int64_t kBlock = 32;
    const T* y = static_cast<const T*>(arguments.outputs[0]);
    const int64_t count = planes_ * ops::output_count(axes_) * lanes_, whole = count / kBlock * kBlock;
    std::atomic<bool> found = false;
    parallel(whole / kBlock, int64_t{1} << 10, [&](int64_t begin, int64_t end) {
      int hits = 0;
      for (int64_t i = begin * kBlock; i < end * kBlock; i += kBlock) {
        for (int64_t k = 0; k < kBlock; ++k) hits |= static_cast<int>(y[i + k] == wanted);
      }
      if (hits != 0) found.store(true, std::memory_order_relaxed);
    });
    return found || std::find(y + whole, y + count, wanted) != y + count;
  }

  template <class T, class Real>
  void take(const KernelArguments& arguments, const Real& real) const {
    const auto least = static_cast<T>(std::is_same_v<T, float> ? -HUGE_VALF : 0xFF80);
    const int64_t from = ops::input_count(axes_) * lanes_, to = ops::output_count(axes_) * lanes_;
    parallel(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* x = static_cast<const T*>(arguments.inputs[0]) + plane * from;
        T* y = static_cast<T*>(arguments.outputs[0]) + plane * to;
        std::fill_n(y, to, least);
        ops::for_each_tap(axes_, [&](int64_t window, int64_t at) {
          for (int64_t lane = 0; lane < lanes_; ++lane) {
            const T value = x[at * lanes_ + lane];
            T& best = y[window * lanes_ + lane];
            if (real(value) > real(best) || std::isnan(real(value))) best = value;
          }
        });
      }
    });
  }

  ops::WindowAxes axes_;
  ElementType element_;
  int64_t lanes_ = 1, planes_ = 0;
};

std::unique_ptr<Kernel> make_pooling(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const bool max = request.node.op.find("Max") != std::string::npos;
  const Windows windows = windows_of(request.node, x.dims);
  // Elements beyond the padding would be counted with it.
  const bool padded = ops::integer_attribute(request.node, "count_include_pad") != 0;
  const bool miscounts = !max && padded && windows.beyond;
  const bool served =
      x.element == ElementType::kFloat || x.element == ElementType::kBFloat16 || (max && is_8bit(x.element));
  if (!served || x.rank() < 3 || x.rank() > 5 || request.wants(1) || x.size() == 0 || y.size() == 0 ||
      miscounts) {
    reason = "no such pool in oneDNN";
    return nullptr;
  }
  const auto algorithm = max      ? dnnl::algorithm::pooling_max
                         : padded ? dnnl::algorithm::pooling_avg_include_padding
                                  : dnnl::algorithm::pooling_avg_exclude_padding;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const int threads = threads_for(4 * static_cast<double>(x.size()));
  const ThreadLimit scope(threads);
  const auto x_md = describe(x), y_md = describe(y);
  const auto pd = describe_pool(algorithm, x_md, y_md, windows, attributes);
  auto kernel =
      std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(),
                                   std::vector<Argument>{{DNNL_ARG_SRC, x_md, 0, -1, std::nullopt},
                                                         {DNNL_ARG_DST, y_md, -1, 0, std::nullopt}});
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->name = dnnl_name(pd.impl_info_str());
  if (!max)
    kernel->contract = {ElementType::kFloat, ElementType::kFloat, y.element,
                        NumericsContract::Order::kSequential};
  if (max && is_float(x.element)) {
    if (!InvalidOperations::kAreSeen || x.layout != y.layout) {
      reason = "oneDNN's largest number leaves NaN out";
      return nullptr;
    }
    return std::make_unique<ExactMaxPool>(std::move(kernel), x, axes_of(request.node, x.dims));
  }
  return kernel;
}

}  // namespace

void register_pooling(KernelRegistry& registry) {
  for (const char* op : {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})
    registry.add({"", op, LayoutRule::kImage, Priority::kLibrary, unless_refused<make_pooling>});
}

}  // namespace vernier::cpu
