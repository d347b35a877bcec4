#include "vernier/backends/cuda/contractions/depthwise.h"

#include <algorithm>
#include <bit>

#include "vernier/backends/cuda/contractions/weight_order.h"
#include "vernier/backends/cuda/cudnn/dnn_convolution.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/window_parameters.h"

namespace vernier::cuda {

namespace {

using P = ConvolutionParameters;

std::string number_text(double value) {
  return fmt::format("of_bits({:#x}ull)", std::bit_cast<uint64_t>(value));
}

// How threads share the work: each makes `run` places of `width` channels, from so many `lines` of the window
// at a time; a block makes tiles of that.
struct Tile {
  int64_t width, run, lines, packs, runs, rows;
  int64_t threads() const { return packs * runs * rows; }
};

int64_t power_of_two_over(int64_t count) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
}

// By what was fast on an H200, at batch 1 and 64.
Tile tile_of(const P& parameters, ElementType element, int64_t results) {
  constexpr int64_t kRun = 4, kEnoughThreads = int64_t{1} << 16, kWidest = 4, kNarrowest = 2, kLine = 128,
                    kRows = 4, kMostThreads = 128, kMostLoads = 50;
  Tile tile{std::min(kWidest, pack_width(parameters.groups, element)), 1, 0, 1, 1, 1};
  // A thread loads less for places in a row than one for each would, where there are threads enough for a GPU
  // all the same.
  const bool unrolls = unrolls_taps(parameters);
  const bool shares =
      unrolls && parameters.dilations[2] == 1 && parameters.strides[2] <= 2 && parameters.output[2] >= kRun;
  if (shares && results / tile.width / kRun >= kEnoughThreads) tile.run = kRun;
  while (tile.width > kNarrowest && results / tile.width / tile.run < kEnoughThreads) tile.width /= 2;
  const int64_t window = int64_t{parameters.kernel[1]} * parameters.kernel[2] * tile.width;
  if (unrolls) tile.lines = tile.run == 1 && window <= kMostLoads ? parameters.kernel[1] : 1;
  const int64_t in_line = kLine / (tile.width * static_cast<int64_t>(element_size(element)));
  while (tile.packs < in_line && parameters.groups / tile.width % (tile.packs * 2) == 0) tile.packs *= 2;
  tile.rows = std::min({kRows, power_of_two_over(parameters.output[1]), kMostThreads / tile.packs});
  tile.runs = std::min(power_of_two_over(tiles_of(parameters.output[2], tile.run)),
                       kMostThreads / (tile.packs * tile.rows));
  return tile;
}

// Writes what becomes of a sum.
std::string finish_text(const DnnConvolution& asked) {
  if (asked.relu) return fmt::format("minimum(maximum(x, 0.0f), (f32){})", number_text(asked.most));
  if (!asked.activation) return "x";
  return asked.activation->kind == PostOp::Kind::kHardSwish
             ? "op_HardSwish(x)"
             : fmt::format("op_Swish16(x, (f32){})", number_text(asked.activation->alpha));
}

bool is_served(const DnnConvolution& asked) {
  const int64_t channels = asked.x.sizes[1];
  return asked.channels_last && asked.w.sizes[1] == 1 && asked.w.sizes[0] == channels && channels > 1 &&
         !asked.residual_input && !asked.pads_channels;
}

}  // namespace

std::unique_ptr<CudaKernel> make_depthwise(const KernelRequest& request, std::string& reason) {
  const auto asked = dnn_convolution(request, reason);
  if (!asked) return nullptr;
  if (!is_served(*asked)) {
    reason = "no convolution of single channels that lie last";
    return nullptr;
  }
  P parameters{};
  set_window(asked->axes, parameters);
  parameters.batch = static_cast<int>(asked->x.sizes[0]);
  parameters.groups = static_cast<int>(asked->x.sizes[1]);
  const Tile tile = tile_of(parameters, asked->element, request.out().size());
  const int64_t threads = parameters.batch * parameters.output[0] *
                          tiles_of(parameters.output[1], tile.rows) *
                          tiles_of(parameters.output[2], tile.run * tile.runs) *
                          (parameters.groups / (tile.width * tile.packs)) * tile.threads();
  auto kernel = std::make_unique<CudaKernel>(request, "depthwise");
  kernel->contract = {.computed = ElementType::kFloat,
                      .accumulated = ElementType::kFloat,
                      .stored = asked->element,
                      .order = NumericsContract::Order::kSequential,
                      .approximate = asked->activation && asked->activation->kind == PostOp::Kind::kSwish};
  const auto [w, bytes] = order_weights(*kernel, request, asked->w_input, WeightOrder::kTapsFirst);
  kernel->scratch_bytes = bytes;
  Definitions definitions = {{"T", std::string(device_type(asked->element))},
                             {"N", std::to_string(tile.width)},
                             {"RUN", std::to_string(tile.run)},
                             {"PACKS", std::to_string(tile.packs)},
                             {"RUNS", std::to_string(tile.runs)},
                             {"ROWS", std::to_string(tile.rows)},
                             {"THREADS", std::to_string(tile.threads())},
                             {"IDX", std::string(index_type(threads))},
                             {"STRIDE", std::to_string(parameters.strides[2])},
                             {"DILATION", std::to_string(parameters.dilations[2])},
                             {"LINES", std::to_string(tile.lines)},
                             {"FINISH(x)", finish_text(*asked)}};
  define_taps(parameters, definitions);
  Grid grid;
  grid.x = static_cast<unsigned>(std::min<int64_t>(threads / tile.threads(), INT32_MAX));
  grid.threads = static_cast<unsigned>(tile.threads());
  const auto before = asked->activation ? std::vector<std::string>{"functions"} : std::vector<std::string>{};
  kernel->launch(kernel_source("depthwise", definitions, before), grid, parameters,
                 {{&P::x, CudaKernel::input(asked->x_input)}, {&P::w, w}}, {{&P::y, CudaKernel::output()}});
  if (asked->bias_input) kernel->add_pointer(offsetof(P, bias), CudaKernel::input(*asked->bias_input));
  return kernel;
}

}  // namespace vernier::cuda
