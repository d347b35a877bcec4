// Conv of channels-last floats or bfloat16 by constant 3 by 3 weights, as Winograd has it.
#include "vernier/backends/cpu/convolution/constant_convolution.h"
#include "vernier/backends/cpu/gemm/contraction_kernel.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/cpu/winograd/winograd_walk.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kTaps = 9;

std::optional<WinogradSize> size_of(std::string_view tactic) {
  if (tactic == kWinogradOfTwo) return WinogradSize{2};
  if (tactic == kWinogradOfFour) return WinogradSize{4};
  return std::nullopt;
}

// Nothing for other windows, and for channels that leave vectors empty.
std::optional<ConstantConvolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  constexpr int64_t kLeastColumns = 16;
  auto convolution = constant_convolution(fused, request);
  if (!convolution || convolution->shape.groups != 1 || convolution->shape.axes.size() != 2 ||
      convolution->element == ElementType::kFloat16 || convolution->shape.in_channels % kWinogradLanes != 0 ||
      convolution->shape.out_channels < kLeastColumns)
    return std::nullopt;
  for (const auto& axis : convolution->shape.axes) {
    if (axis.kernel != 3 || axis.stride != 1 || axis.dilation != 1) return std::nullopt;
  }
  return convolution;
}

// Weights [columns, channels, 3, 3] as WinogradWalk takes them.
void pack(const Tensor& weights, const WinogradShape& shape, std::byte* to) {
  const int64_t channels = shape.convolution.in_channels, columns = shape.convolution.out_channels,
                positions = shape.size.positions();
  std::vector<float> upcast(shape.element == ElementType::kFloat ? 0 : static_cast<size_t>(weights.size()));
  const float* floats = load_floats(weights.type(), weights.raw(), 0, weights.size(), upcast.data());
  const auto element = static_cast<int64_t>(element_size(shape.element)), group = kVnniGroupBytes / element;
  std::array<float, kTaps * kVectorColumns> taps{};
  std::vector<float> transformed(static_cast<size_t>(positions * kVectorColumns));
  std::array<uint16_t, kVectorColumns> rounded{};
  for (int64_t block = 0; block < shape.column_blocks(); ++block, to += shape.block_bytes()) {
    const int64_t first = block * kVectorColumns, count = std::min(kVectorColumns, columns - first);
    taps.fill(0);
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t i = 0; i < count; ++i) {
        const float* from = floats + ((first + i) * channels + channel) * kTaps;
        for (int64_t tap = 0; tap < kTaps; ++tap)
          taps[static_cast<size_t>(tap * kVectorColumns + i)] = from[tap];
      }
      transform_weights(shape.size, taps.data(), transformed.data());
      for (int64_t position = 0; position < positions; ++position) {
        const float* from = transformed.data() + position * kVectorColumns;
        std::byte* at = to + (position * channels + channel / group * group) * kVectorColumns * element;
        if (shape.element == ElementType::kFloat) {
          std::copy_n(from, kVectorColumns, reinterpret_cast<float*>(at));
          continue;
        }
        narrow_bf16(from, kVectorColumns, rounded.data());
        auto* pairs = reinterpret_cast<uint16_t*>(at) + channel % group;
        for (size_t i = 0; i < kVectorColumns; ++i) pairs[i * static_cast<size_t>(group)] = rounded[i];
      }
    }
  }
}

// How threads share the work: by lines of tiles, or by columns where weights are more than pixels.
struct Partitions {
  int64_t by_lines = 1, by_columns = 1;
};

Partitions choose_partitions(const WinogradShape& shape) {
  const ops::Convolution& c = shape.convolution;
  const double flops = 2.0 * static_cast<double>(kTaps * c.batch * shape.y().output * shape.x().output) *
                       static_cast<double>(c.in_channels * c.out_channels);
  const int64_t threads = threads_for(flops), tiles = shape.tile_lines() * shape.line_tiles();
  if (shape.column_blocks() >= threads && c.out_channels > tiles) return {1, threads};
  return {std::min(threads, shape.tile_lines()), 1};
}

class WinogradConvolution : public ContractionKernel {
 public:
  WinogradConvolution(const WinogradShape& shape, int input, std::shared_ptr<const PackedForm> weights,
                      std::unique_ptr<const BlockEpilogue> epilogue)
      : ContractionKernel(input, std::move(weights), std::move(epilogue)),
        shape_(shape),
        walk_(shape),
        partitions_(choose_partitions(shape)) {
    name = fmt::format("cpu:winograd:{0}x{0}", shape.size.outputs);
    partition_scratch(walk_.scratch_bytes(), partitions_.by_lines * partitions_.by_columns);
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t lines = shape_.tile_lines(), blocks = shape_.column_blocks();
    parallel(partitions_.by_lines * partitions_.by_columns, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition) {
        const int64_t line = partition / partitions_.by_columns, column = partition % partitions_.by_columns;
        walk_.run(static_cast<const std::byte*>(arguments.inputs[input_]), weights_->content().data(),
                  *epilogue_, arguments, scratch_of(arguments, partition),
                  {lines * line / partitions_.by_lines, lines * (line + 1) / partitions_.by_lines,
                   blocks * column / partitions_.by_columns, blocks * (column + 1) / partitions_.by_columns});
      }
    });
  }

 private:
  WinogradShape shape_;
  WinogradWalk walk_;
  Partitions partitions_;
};

std::vector<std::string> tactics_winograd_convolution(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? convolution_of(*fused, request) : std::nullopt;
  // Tiles multiply so fast that transforms would be most of the work.
  if (!convolution || !has_vector_blocks() || has_bf16_tiles()) return {};
  if (convolution->element == ElementType::kFloat) return {kWinogradOfTwo, kWinogradOfFour};
  return {kWinogradOfTwo};  // the other loses too much in bfloat16
}

std::unique_ptr<Kernel> make_winograd_convolution(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? convolution_of(*fused, request) : std::nullopt;
  const auto size = size_of(request.tactic);
  if (!convolution || !size || !has_vector_blocks()) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  auto end = make_float_epilogue(request, *fused, convolution->bias, 1, reason);
  if (!end) return nullptr;
  const WinogradShape shape{*size, convolution->element, convolution->shape};
  const Tensor& source = *request.in(static_cast<size_t>(convolution->weights)).constant;
  auto weights = request.pack(source, fmt::format("winograd {}", size->outputs),
                              static_cast<size_t>(shape.column_blocks() * shape.block_bytes()),
                              [source, shape](std::byte* to) { pack(source, shape, to); });
  auto kernel = std::make_unique<WinogradConvolution>(shape, convolution->input, std::move(weights),
                                                      std::move(end->epilogue));
  kernel->contract = end->contract;
  kernel->contract.winograd = static_cast<int>(size->outputs);
  // Transformed elements are rounded again before they are multiplied.
  if (shape.element == ElementType::kBFloat16) kernel->contract.operands = ElementType::kBFloat16;
  return kernel;
}

}  // namespace

void register_winograd_convolution(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, Priority::kWinograd, make_winograd_convolution,
                tactics_winograd_convolution});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, Priority::kWinograd, make_winograd_convolution,
                tactics_winograd_convolution});
}

}  // namespace vernier::cpu
