// Resize and Upsample. Nearest neighbours are copies; everything else is a weighted sum along one axis after
// the other, with weights found when the kernel is made.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/resampling/weighted_sums.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/resampling/axis_taps.h"
#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier::cpu {

namespace {

using ops::AxisTaps;
using ops::ResampleAxis;

constexpr int64_t kElementsPerThread = 1 << 13;

// Where an axis of the node lies in memory.
size_t memory_axis(const Operand& x, size_t axis) {
  if (x.layout != Layout::kChannelsLast || axis == 0) return axis;
  return axis == 1 ? x.dims.size() - 1 : axis - 1;
}

// Sums along one axis.
struct Pass {
  int64_t outer, length, inner;  // of the input
  int64_t outputs;
  std::vector<size_t> starts;  // by output element: its taps
  std::vector<int64_t> offsets;
  std::vector<float> weights;

  void run(const float* x, float* y) const {
    if (inner == 1) return run_adjacent(x, y);
    parallel(outer * outputs, std::max<int64_t>(1, kElementsPerThread / inner),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) {
                 const auto i = static_cast<size_t>(row % outputs);
                 weighted_rows(x + row / outputs * length * inner, &offsets[starts[i]], &weights[starts[i]],
                               starts[i + 1] - starts[i], y + row * inner, inner);
               }
             });
  }

  // The summed axis is the innermost.
  void run_adjacent(const float* x, float* y) const {
    parallel(outer, std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, outputs)),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) {
                 const float* source = x + row * length;
                 float* target = y + row * outputs;
                 for (int64_t i = 0; i < outputs; ++i) {
                   const size_t first = starts[static_cast<size_t>(i)],
                                last = starts[static_cast<size_t>(i) + 1];
                   float sum = weights[first] * source[offsets[first]];
                   for (size_t k = first + 1; k < last; ++k) sum += weights[k] * source[offsets[k]];
                   target[i] = sum;
                 }
               }
             });
  }
};

class ResampleKernel : public Kernel {
 public:
  ResampleKernel(const Operand& x, const Operand& y, std::vector<std::pair<ResampleAxis, AxisTaps>> axes) {
    name = "cpu:resize";
    contract = {ElementType::kFloat, ElementType::kFloat, y.element, NumericsContract::Order::kSequential};
    // An axis that grows does so as late as possible, and among equals along the axis whose sums are the
    // dearest first.
    std::stable_sort(axes.begin(), axes.end(), [&](const auto& a, const auto& b) {
      const bool a_grows = a.first.output > a.first.input, b_grows = b.first.output > b.first.input;
      if (a_grows != b_grows) return b_grows;
      const size_t a_at = memory_axis(x, a.first.axis), b_at = memory_axis(x, b.first.axis);
      return a_grows ? a_at > b_at : a_at < b_at;
    });
    Dims dims = x.memory_dims();
    for (const auto& [axis, taps] : axes) {
      const size_t at = memory_axis(x, axis.axis);
      Pass pass{ops::product(dims, 0, at),
                dims[at],
                ops::product(dims, at + 1, dims.size()),
                axis.output,
                taps.starts,
                {},
                {taps.weights.begin(), taps.weights.end()}};
      for (const int64_t index : taps.indices) pass.offsets.push_back(index * pass.inner);
      dims[at] = axis.output;
      passes_.push_back(std::move(pass));
      if (passes_.size() < axes.size())
        largest_ = std::max(largest_, static_cast<size_t>(element_count(dims)));
    }
    scratch_bytes = std::min<size_t>(2, passes_.size() - 1) * largest_ * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* scratch = reinterpret_cast<float*>(arguments.scratch);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const bool last = i + 1 == passes_.size();
      float* to = last ? static_cast<float*>(arguments.outputs[0]) : scratch + i % 2 * largest_;
      passes_[i].run(from, to);
      from = to;
    }
  }

 private:
  std::vector<Pass> passes_;
  size_t largest_ = 0;  // elements between two passes
};

// Which element of the input each of the output along an axis is; nothing if they are not all i / factor.
std::optional<int64_t> repetition(const AxisTaps& taps, int64_t input) {
  const auto outputs = static_cast<int64_t>(taps.indices.size());
  if (input == 0 || outputs % input != 0) return std::nullopt;
  const int64_t factor = outputs / input;
  for (int64_t i = 0; i < outputs; ++i) {
    if (taps.indices[static_cast<size_t>(i)] != i / factor) return std::nullopt;
  }
  return factor;
}

std::unique_ptr<Kernel> make_nearest(const Operand& x, const Operand& y,
                                     const std::vector<std::pair<ResampleAxis, AxisTaps>>& axes) {
  std::vector<int64_t> factors(x.dims.size(), 1);
  bool repeats = true;
  for (const auto& [axis, taps] : axes) {
    const auto factor = repetition(taps, axis.input);
    repeats = repeats && factor;
    if (factor) factors[axis.axis] = *factor;
  }
  const auto from = byte_steps(x), to = byte_steps(y);
  if (repeats && 2 * x.dims.size() <= StridedCopy::kMaxAxes) {
    auto kernel = std::make_unique<CopyKernel>("resize-nearest");
    std::vector<CopyAxis> copy;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      copy.push_back({x.dims[i], from[i], to[i] * factors[i]});
      copy.push_back({factors[i], 0, to[i]});
    }
    kernel->add(0, 0, StridedCopy(element_size(x.element), std::move(copy), 0, 0));
    return kernel;
  }
  std::vector<std::vector<int64_t>> sources(x.dims.size());
  const Dims dims = x.memory_dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    for (int64_t k = 0; k < dims[i]; ++k) sources[i].push_back(k);
  }
  for (const auto& [axis, taps] : axes) sources[memory_axis(x, axis.axis)] = taps.indices;
  return std::make_unique<IndexCopyKernel>("resize-nearest", element_size(x.element), dims, sources);
}

// Scales, sizes and region, if all that are given are known.
std::optional<std::vector<const Tensor*>> known_inputs(const KernelRequest& request) {
  std::vector<const Tensor*> inputs(request.inputs.size(), nullptr);
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!request.has(i)) continue;
    if (request.in(i).constant == nullptr) return std::nullopt;
    inputs[i] = request.in(i).constant;
  }
  return inputs;
}

template <ops::ResizePlan (*kPlan)(const Node&, const std::vector<const Tensor*>&, const Dims&, const Dims&)>
std::unique_ptr<Kernel> make_resize(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto inputs = known_inputs(request);
  if (!is_movable(request) || !inputs || x.layout == Layout::kBlocked16 || x.size() == 0 || y.size() == 0) {
    reason = "it is blocked or empty, or its sizes are known only when it runs";
    return nullptr;
  }
  const ops::ResizePlan plan = kPlan(request.node, *inputs, x.dims, y.dims);
  const bool nearest = plan.rule.interpolation == ops::Interpolation::kNearest || plan.axes.empty();
  if (!nearest && x.element != ElementType::kFloat) {
    reason = "only f32 is interpolated";
    return nullptr;
  }
  std::vector<std::pair<ResampleAxis, AxisTaps>> axes;
  for (const ResampleAxis& axis : plan.axes) {
    axes.emplace_back(axis, ops::axis_taps(axis, plan.rule));
    const AxisTaps& taps = axes.back().second;
    const bool untapped = std::adjacent_find(taps.starts.begin(), taps.starts.end()) != taps.starts.end();
    if (taps.any_outside() || untapped) {
      reason = "it extrapolates";
      return nullptr;
    }
  }
  if (nearest) return make_nearest(x, y, axes);
  return std::make_unique<ResampleKernel>(x, y, std::move(axes));
}

}  // namespace

void register_resize(KernelRegistry& registry) {
  registry.add({"", "Resize", LayoutRule::kFollow, Priority::kOwn, make_resize<ops::resize_plan>});
  registry.add({"", "Upsample", LayoutRule::kFollow, Priority::kOwn, make_resize<ops::upsample_plan>});
}

}  // namespace vernier::cpu
