#include "vernier/backends/cuda/movement/strided_copy.h"

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

constexpr size_t kWidest = 16;

void join_axes(std::vector<CopyAxis>& axes) {
  for (size_t i = axes.size(); i-- > 1;) {
    CopyAxis &outer = axes[i - 1], &inner = axes[i];
    if (outer.from != inner.from * inner.size || outer.to != inner.to * inner.size) continue;
    outer = {outer.size * inner.size, inner.from, inner.to};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool divides(int64_t by, const CopyBox& box) {
  bool all = box.from_offset % by == 0 && box.to_offset % by == 0 && box.axes.back().size % by == 0;
  for (size_t i = 0; i + 1 < box.axes.size(); ++i)
    all = all && box.axes[i].from % by == 0 && box.axes[i].to % by == 0;
  return all;
}

// Several elements as one, where they lie in one piece on both sides.
void widen(CopyBox& box) {
  if (box.axes.empty() || box.axes.back().from != 1 || box.axes.back().to != 1) return;
  while (box.width * 2 <= kWidest && divides(2, box)) {
    box.width *= 2;
    box.from_offset /= 2;
    box.to_offset /= 2;
    box.axes.back().size /= 2;
    for (size_t i = 0; i + 1 < box.axes.size(); ++i) {
      box.axes[i].from /= 2;
      box.axes[i].to /= 2;
    }
  }
}

// Whether neighbours in the source are the rows of the target, and both sides are long.
bool transposes(const CopyBox& box) {
  constexpr int64_t kLong = 16;
  const size_t rank = box.axes.size();
  return rank >= 2 && box.width <= 8 && box.axes[rank - 1].to == 1 && box.axes[rank - 2].from == 1 &&
         box.axes[rank - 1].from > 1 && box.axes[rank - 1].size >= kLong && box.axes[rank - 2].size >= kLong;
}

}  // namespace

std::vector<int64_t> element_steps(const Dims& dims, Layout layout, int64_t capacity) {
  std::vector<int64_t> steps = ops::strides_of(physical_dims(dims, layout, capacity));
  if (layout == Layout::kChannelsLast && steps.size() >= 3)
    std::rotate(steps.begin() + 1, steps.end() - 1, steps.end());
  return steps;
}

std::unique_ptr<CudaKernel> make_reorder(const Operand& from, Layout to) {
  const auto is_known = [](Layout layout) {
    return layout == Layout::kPlain || layout == Layout::kChannelsLast || layout == Layout::kCache;
  };
  if (!is_known(from.layout) || !is_known(to))
    throw internal_error("the CUDA backend has no {} layout", layout_name(is_known(to) ? from.layout : to));
  auto kernel = std::make_unique<CudaKernel>(1, "reorder");
  CopyBox box{element_size(from.element)};
  const auto source = element_steps(from), target = element_steps(from.dims, to, from.capacity);
  for (size_t i = 0; i < from.dims.size(); ++i) box.axes.push_back({from.dims[i], source[i], target[i]});
  std::string reason;
  if (!add_copy(*kernel, box, CudaKernel::input(0), CudaKernel::output(), reason))
    throw unsupported("an image of {} is not laid out anew: {}", dims_text(from.dims), reason);
  return kernel;
}

CopyBox simplified(CopyBox box) {
  std::erase_if(box.axes, [](const CopyAxis& axis) { return axis.size == 1; });
  std::stable_sort(box.axes.begin(), box.axes.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
  join_axes(box.axes);
  widen(box);
  return box;
}

bool add_copy(CudaKernel& kernel, const CopyBox& given, const CudaKernel::Place& from,
              const CudaKernel::Place& to, std::string& reason) {
  CopyBox box = simplified(given);
  // The rows of a transposition are to be the last but one.
  if (box.axes.size() >= 2 && box.axes.back().from != 1) {
    const auto row = std::find_if(box.axes.begin(), box.axes.end() - 1,
                                  [](const CopyAxis& axis) { return axis.from == 1; });
    if (row != box.axes.end() - 1) std::rotate(row, row + 1, box.axes.end() - 1);
  }
  if (box.axes.size() > kMaxRank) {
    reason = "it has too many axes";
    return false;
  }
  CopyParameters parameters{};
  parameters.from_offset = box.from_offset;
  parameters.to_offset = box.to_offset;
  parameters.count = 1;
  for (size_t i = 0; i < box.axes.size(); ++i) {
    parameters.count *= box.axes[i].size;
    parameters.sizes[i] = box.axes[i].size;
    parameters.from_steps[i] = box.axes[i].from;
    parameters.to_steps[i] = box.axes[i].to;
  }
  if (parameters.count == 0) return true;
  const Definitions definitions = {{"T", std::string(storage_type(box.width))},
                                   {"RANK", std::to_string(box.axes.size())},
                                   {"IDX", parameters.count < INT32_MAX ? "i32" : "i64"}};
  Grid grid = grid_over(parameters.count);
  const bool transposed = transposes(box);
  if (transposed) {
    constexpr int64_t kTile = 32;
    const size_t rank = box.axes.size();
    int64_t tiles = 1;
    for (size_t i = 0; i < rank; ++i)
      tiles *= i + 2 >= rank ? (box.axes[i].size + kTile - 1) / kTile : box.axes[i].size;
    grid = grid_of_blocks(tiles, kThreads);
  }
  kernel.launch(kernel_source(transposed ? "transpose" : "copy", definitions), grid, parameters,
                {{&CopyParameters::from, from}}, {{&CopyParameters::to, to}});
  return true;
}

}  // namespace vernier::cuda
