// Resize and Upsample: along one axis after the other, with taps that are found when the kernel is made.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/resampling/axis_taps.h"
#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier::cuda {

namespace {

using Axes = std::vector<std::pair<ops::ResampleAxis, ops::AxisTaps>>;

std::optional<ops::ResizePlan> plan_of(const KernelRequest& request) {
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Tensor* constant = request.has(i) ? request.in(i).constant : nullptr;
    if (i > 0 && request.has(i) && constant == nullptr) return std::nullopt;
    inputs.push_back(constant);
  }
  const auto plan = request.node.op == "Resize" ? ops::resize_plan : ops::upsample_plan;
  return plan(request.node, inputs, request.in(0).dims, request.out().dims);
}

// Axes that shrink come first: later axes have fewer sums to make.
void sort_axes(Axes& axes) {
  std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) {
    return a.first.output * b.first.input < b.first.output * a.first.input;
  });
}

void add_pass(CudaKernel& kernel, const ResizeParameters& parameters, const ops::AxisTaps& taps,
              const std::pair<std::string, std::string>& types, const CudaKernel::Place& from,
              const CudaKernel::Place& to, bool nearest) {
  using P = ResizeParameters;
  kernel.launch(
      kernel_source("resize",
                    {{"FROM", types.first}, {"TO", types.second}, {"NEAREST", nearest ? "1" : "0"}}),
      grid_over(parameters.outer * parameters.result * parameters.inner), parameters,
      {{&P::x, from},
       {&P::starts, kernel.constant(std::vector<int64_t>(taps.starts.begin(), taps.starts.end()))},
       {&P::indices, kernel.constant(taps.indices)},
       {&P::weights, kernel.constant(std::vector<float>(taps.weights.begin(), taps.weights.end()))}},
      {{&P::y, to}});
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto plan = plan_of(request);
  if (!plan || x.size() == 0) {
    reason = "its sizes are known only when it runs";
    return nullptr;
  }
  Axes axes;
  bool outside = false;
  for (const ops::ResampleAxis& axis : plan->axes) {
    axes.emplace_back(axis, ops::axis_taps(axis, plan->rule));
    outside = outside || axes.back().second.any_outside();
  }
  const bool nearest = plan->rule.interpolation == ops::Interpolation::kNearest;
  const bool real = is_float(x.element) && pointwise::register_type(x.element) == ElementType::kFloat;
  if (outside || axes.empty() || (!nearest && !real)) {
    reason = outside ? "elements beyond the input" : axes.empty() ? "nothing changes" : "sums of its type";
    return nullptr;
  }
  sort_axes(axes);
  auto kernel = std::make_unique<CudaKernel>(request, "resize");
  if (!nearest)
    kernel->contract = {ElementType::kFloat, ElementType::kFloat, y.element,
                        NumericsContract::Order::kSequential};
  const std::string stored(nearest ? storage_type(element_size(x.element)) : device_type(x.element));
  const std::string between = nearest ? stored : "f32";
  const size_t between_bytes = nearest ? element_size(x.element) : sizeof(float);
  Dims dims = x.dims;
  size_t largest = 0;  // bytes between two passes
  std::vector<ResizeParameters> passes;
  for (const auto& [axis, taps] : axes) {
    ResizeParameters pass{};
    pass.outer = ops::product(dims, 0, axis.axis);
    pass.length = dims[axis.axis];
    pass.result = axis.output;
    pass.inner = ops::product(dims, axis.axis + 1, dims.size());
    dims[axis.axis] = axis.output;
    passes.push_back(pass);
    if (passes.size() < axes.size())
      largest =
          std::max(largest, (static_cast<size_t>(element_count(dims)) * between_bytes + 255) / 256 * 256);
  }
  for (size_t i = 0; i < passes.size(); ++i) {
    const bool first = i == 0, last = i + 1 == passes.size();
    add_pass(*kernel, passes[i], axes[i].second, {first ? stored : between, last ? stored : between},
             first ? CudaKernel::input(0) : CudaKernel::scratch((i - 1) % 2 * largest),
             last ? CudaKernel::output() : CudaKernel::scratch(i % 2 * largest), nearest);
  }
  kernel->scratch_bytes = std::min<size_t>(2, passes.size() - 1) * largest;
  return kernel;
}

}  // namespace

void register_resize(KernelRegistry& registry) {
  registry.add("", "Resize", make);
  registry.add("", "Upsample", make);
}

}  // namespace vernier::cuda
