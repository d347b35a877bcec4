// The Reduce operators, and the pools that are reductions of whole planes: floats in double, integers in
// their own type.
#include <algorithm>
#include <bit>
#include <numeric>

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier::cuda {

namespace {

struct Reduction {
  std::string_view op;
  const char *fold, *start, *term, *finish;
  bool integers = false;  // it has a meaning in their own type
};
constexpr Reduction kReductions[] = {
    {"ReduceSum", "Sum", "0", "x", "s", true},
    {"ReduceMean", "Sum", "0", "x", "s / count"},
    {"GlobalAveragePool", "Sum", "0", "x", "s / count"},
    {"ReduceMax", "Maximum", "LOWEST", "x", "s", true},
    {"GlobalMaxPool", "Maximum", "LOWEST", "x", "s"},
    {"ReduceMin", "Minimum", "HIGHEST", "x", "s", true},
    {"ReduceProd", "Product", "1", "x", "s", true},
    {"ReduceL1", "Sum", "0", "fabs(x)", "s"},
    {"ReduceL2", "Sum", "0", "x * x", "sqrt(s)"},
    {"ReduceSumSquare", "Sum", "0", "x * x", "s", true},
    {"ReduceLogSum", "Sum", "0", "x", "log(s)"},
    {"ReduceLogSumExp", "Sum", "0", "exp(x - shift)",
     "(shift - shift == 0 ? shift + log(s) : shift)"},  // infinities stay out of the differences
};

struct Axes {
  Dims sizes, steps;
  int64_t count() const { return element_count(sizes); }

  // Neighbours that lie behind each other in memory are one axis.
  void add(int64_t size, int64_t step) {
    if (size == 1) return;
    if (!sizes.empty() && steps.back() == size * step) {
      sizes.back() *= size;
      steps.back() = step;
      return;
    }
    sizes.push_back(size);
    steps.push_back(step);
  }
};

std::optional<std::vector<bool>> reduced_axes(const KernelRequest& request) {
  const Node& node = request.node;
  const size_t rank = request.in(0).dims.size();
  if (node.op.starts_with("Global")) {
    std::vector<bool> reduced(rank, true);
    reduced[0] = reduced[1] = false;
    return reduced;
  }
  std::vector<int64_t> axes;
  if (!ops::axes_are_input(node)) {
    axes = node.attribute<std::vector<int64_t>>("axes", {});
  } else if (request.has(1)) {
    if (request.in(1).constant == nullptr) return std::nullopt;
    axes = request.in(1).constant->to_ints();
  }
  return ops::reduced_axes(node, axes, rank);
}

std::string end_text(ElementType type, bool lowest) {
  if (is_float(type)) return lowest ? "(-of_bits(0x7ff0000000000000ull))" : "of_bits(0x7ff0000000000000ull)";
  if (type == ElementType::kBool) return lowest ? "0" : "1";
  return lowest ? fmt::format("((ACC)(i64){:#x}ull)", static_cast<uint64_t>(integer_min(type)))
                : fmt::format("((ACC){:#x}ull)", integer_max(type));
}

// How many results a block makes, or none where each thread makes one. Those that lie next to each other in
// their sources are read together, as many as leave blocks enough for a GPU.
int64_t lanes_of(const ReduceParameters& parameters, const Axes& kept, const Axes& folded) {
  constexpr int64_t kLong = 64, kVeryLong = 2048, kMany = 65536, kMostLanes = 32;
  if (parameters.length < kLong) return 0;
  if (folded.steps.back() == 1) return 1;
  if (kept.steps.empty() || kept.steps.back() != 1) return parameters.results < kMany ? 1 : 0;
  const int64_t enough_blocks = parameters.length >= kVeryLong ? 256 : 48;
  int64_t lanes = kMostLanes;
  while (lanes > 1 && parameters.results / lanes < enough_blocks) lanes /= 2;
  return lanes;
}

// Each thread has several elements, fewer where there are few blocks. By what was fast on an H200.
Grid grid_of(const ReduceParameters& parameters, const Axes& folded, int64_t lanes) {
  if (lanes == 0) return grid_over(parameters.results);
  Grid grid = grid_of_blocks((parameters.results + lanes - 1) / lanes, parameters.length * lanes);
  if (folded.steps.back() == 1) return grid;
  constexpr unsigned kFewBlocks = 512;
  constexpr uint64_t kLeast = 64, kMost = 512;
  const auto elements = static_cast<uint64_t>(parameters.length * lanes);
  grid.threads = static_cast<unsigned>(
      std::clamp(std::bit_floor(elements / (grid.x <= kFewBlocks ? 8 : 32)), kLeast, kMost));
  return grid;
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const auto* reduction = std::find_if(std::begin(kReductions), std::end(kReductions),
                                       [&](const Reduction& each) { return each.op == request.node.op; });
  const auto reduced = reduced_axes(request);
  const bool real = is_float(x.element);
  if (!reduced || device_type(x.element).empty() || (!real && !reduction->integers)) {
    reason = reduced ? "no such reduction of its type" : "the axes are known only when it runs";
    return nullptr;
  }
  // In the order in which they lie.
  std::vector<size_t> axes(x.dims.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (x.layout == Layout::kChannelsLast) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  Axes kept, folded;
  const auto steps = element_steps(x);
  for (const size_t i : axes) ((*reduced)[i] ? folded : kept).add(x.dims[i], steps[i]);
  if (kept.sizes.size() > kMaxRank || folded.sizes.size() > kMaxRank) {
    reason = "it has too many axes";
    return nullptr;
  }
  ReduceParameters parameters{};
  parameters.results = kept.count();
  parameters.length = folded.count();
  std::copy(kept.sizes.begin(), kept.sizes.end(), parameters.sizes);
  std::copy(kept.steps.begin(), kept.steps.end(), parameters.steps);
  std::copy(folded.sizes.begin(), folded.sizes.end(), parameters.fold_sizes);
  std::copy(folded.steps.begin(), folded.steps.end(), parameters.fold_steps);
  const int64_t lanes = lanes_of(parameters, kept, folded);
  const Grid grid = grid_of(parameters, folded, lanes);
  const ElementType computed = real ? ElementType::kDouble : x.element;
  const bool shifted = request.node.op == "ReduceLogSumExp";
  auto kernel = std::make_unique<CudaKernel>(request, "reduce");
  if (real) kernel->contract = blocked_contract(computed, x.element);
  kernel->launch(kernel_source("reduce", {{"T", std::string(device_type(x.element))},
                                          {"ACC", std::string(device_type(computed))},
                                          {"FOLD", reduction->fold},
                                          {"LOWEST", end_text(x.element, true)},
                                          {"HIGHEST", end_text(x.element, false)},
                                          {"START", reduction->start},
                                          {"TERM(x)", reduction->term},
                                          {"FINISH(s)", reduction->finish},
                                          {"SHIFTED", shifted ? "1" : "0"},
                                          {"LANES", std::to_string(lanes)},
                                          {"THREADS", std::to_string(grid.threads)},
                                          {"RANK", std::to_string(kept.sizes.size())},
                                          {"FOLD_RANK", std::to_string(folded.sizes.size())}}),
                 grid, parameters, {{&ReduceParameters::x, CudaKernel::input(0)}},
                 {{&ReduceParameters::y, CudaKernel::output()}});
  return kernel;
}

// Results are written in the order in which their sources lie: an image stays one, or becomes the results of
// each channel.
void lay_out(KernelRequest& request) {
  const auto reduced = reduced_axes(request);
  const bool by_channel = reduced && reduced->size() >= 3 && !(*reduced)[0] && !(*reduced)[1] &&
                          std::find(reduced->begin() + 2, reduced->end(), false) == reduced->end();
  const bool is_image = request.in(0).rank() == request.out().rank();
  if (!reduced || !(is_image || by_channel)) return lay_out_plain(request);
  lay_out_image(request);
  if (!is_image) request.outputs[0]->layout = Layout::kPlain;
}

}  // namespace

void register_reduce(KernelRegistry& registry) {
  for (const Reduction& each : kReductions) registry.add("", std::string(each.op), make, lay_out);
}

}  // namespace vernier::cuda
