// Pad, as boxes: what is inside, and what each rule puts around it.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"

namespace vernier::cpu {

namespace {

using ops::Pads;

constexpr size_t kMaxBoxes = 512;

// A part of an axis of the output: elements [to, to + length) show from, from + step, … of the input.
struct Run {
  int64_t to, length, from, step;
};

std::optional<Pads<int64_t>> pads_of(const KernelRequest& request) {
  const Node& node = request.node;
  const size_t rank = request.in(0).dims.size();
  if (!ops::pads_are_inputs(node))
    return ops::pads_by_axis<int64_t>(rank, ops::attribute_pads(node), std::nullopt);
  if (!request.has(1) || request.in(1).constant == nullptr) return std::nullopt;
  std::optional<std::vector<int64_t>> axes;
  if (request.has(3)) {
    if (request.in(3).constant == nullptr) return std::nullopt;
    axes = request.in(3).constant->to_ints();
  }
  return ops::pads_by_axis<int64_t>(rank, request.in(1).constant->to_ints(), axes);
}

// One axis under a rule that shows elements of the input outside, too.
std::vector<Run> runs_of(int64_t size, int64_t before, int64_t after, int64_t out, ops::Outside outside) {
  const ops::PadWindow window = ops::pad_window(size, before, after);
  std::vector<Run> runs;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t at = window.from + outside(i - window.to, window.length);
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.length == 1) last.step = at - last.from;
      if (std::abs(last.step) <= 1 && at == last.from + last.length * last.step) {
        ++last.length;
        continue;
      }
      if (last.length == 1) last.step = 1;
    }
    runs.push_back({i, 1, at, 1});
  }
  return runs;
}

// Every combination of one run along each axis is a box.
bool add_boxes(CopyKernel& kernel, const Operand& x, const Operand& y, const Pads<int64_t>& pads,
               ops::Outside outside) {
  std::vector<std::vector<Run>> runs;
  size_t boxes = 1;
  Dims counts;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    runs.push_back(runs_of(x.dims[i], pads.before[i], pads.after[i], y.dims[i], outside));
    counts.push_back(static_cast<int64_t>(runs.back().size()));
    boxes *= runs.back().size();
    if (boxes > kMaxBoxes) return false;
  }
  ops::for_each_index(counts, [&](const Dims& at) {
    BoxPlace source, target = from_origin(y.dims.size());
    Dims sizes;
    for (size_t i = 0; i < at.size(); ++i) {
      const Run& run = runs[i][static_cast<size_t>(at[i])];
      source.start.push_back(run.from);
      source.step.push_back(run.step);
      target.start[i] = run.to;
      sizes.push_back(run.length);
    }
    kernel.add(0, x, source, 0, y, target, sizes);
  });
  return true;
}

// The input between slabs of one value: for each axis one before and one after what is inside along the axes
// so far.
void add_constant(CopyKernel& kernel, const Operand& x, int value, const Operand& y,
                  const Pads<int64_t>& pads) {
  BoxPlace source = from_origin(x.dims.size()), target = from_origin(y.dims.size());
  Dims sizes = y.dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ops::PadWindow window = ops::pad_window(x.dims[i], pads.before[i], pads.after[i]);
    const int64_t length = std::max<int64_t>(0, window.length);
    const auto slab = [&](int64_t first, int64_t count) {
      BoxPlace place = target;
      place.start[i] = first;
      Dims slab_sizes = sizes;
      slab_sizes[i] = count;
      kernel.fill(value, 0, y, place, slab_sizes);
    };
    const int64_t begin = std::min(window.to, y.dims[i]), end = std::min(begin + length, y.dims[i]);
    slab(0, begin);
    slab(end, y.dims[i] - end);
    source.start[i] = window.from;
    target.start[i] = begin;
    sizes[i] = end - begin;
  }
  kernel.add(0, x, source, 0, y, target, sizes);
}

// Where the value of the pads comes from.
int value_of(CopyKernel& kernel, const KernelRequest& request) {
  if (ops::pads_are_inputs(request.node)) return request.has(2) ? 2 : CopyKernel::kZero;
  const double value = ops::real_attribute(request.node, "value");
  const Tensor one = Tensor::from_doubles(request.out().element, {1}, std::vector<double>{value});
  kernel.set_value(one.raw(), one.byte_size());
  return CopyKernel::kValue;
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request, std::string& reason) {
  const auto pads = pads_of(request);
  if (!is_movable(request) || !pads) {
    reason = "the pads are known only when it runs";
    return nullptr;
  }
  const Operand &x = request.in(0), &y = request.out();
  auto kernel = std::make_unique<CopyKernel>("pad");
  const std::string mode = ops::pad_mode(request.node);
  if (mode == "constant") {
    add_constant(*kernel, x, value_of(*kernel, request), y, *pads);
  } else {
    for (size_t i = 0; i < x.dims.size(); ++i) {
      if (ops::pad_window(x.dims[i], pads->before[i], pads->after[i]).length > 0) continue;
      reason = "an axis has nothing to pad with";
      return nullptr;
    }
    if (!add_boxes(*kernel, x, y, *pads, ops::pad_rule(mode))) {
      reason = "it falls into too many boxes";
      return nullptr;
    }
  }
  kernel->clear_tail(0, y);
  return kernel;
}

}  // namespace

void register_pad(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "Pad", LayoutRule::kFollow, Priority::kOwn, make_pad});
}

}  // namespace vernier::cpu
