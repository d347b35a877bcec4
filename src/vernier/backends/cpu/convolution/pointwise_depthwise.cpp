// The fusion of a pointwise (1x1) convolution with the depthwise convolution that reads it, the inverted
// residual of MobileNets: a group "pointwise_depthwise". For each block of channels, one thread computes a
// few lines of the image between the two and reads them again while they are in its first cache.
#include <algorithm>
#include <array>

#include "vernier/backends/cpu/depthwise/depthwise_vectors.h"
#include "vernier/backends/cpu/epilogue/tile_store.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/exec/group_members.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "pointwise-depthwise";
static_assert(kVectorColumns == kDepthwiseChannels, "blocks of columns are those of channels");

int64_t in_parts(int64_t count, int64_t parts) {
  return (count + parts - 1) / parts;
}

// The pointwise convolution.
class Pointwise {
 public:
  Pointwise(const VectorWork& work, std::shared_ptr<const PackedForm> weights, const std::vector<float>& bias,
            const ActivationEpilogue& end)
      : work_(work),
        row_bytes_(work.order.channels * static_cast<int64_t>(element_size(work.element))),
        weights_(std::move(weights)),
        bias_(bias.begin(), bias.end()),
        end_(end) {
    bias_.resize(static_cast<size_t>(work.order.column_blocks() * kVectorColumns));
  }

  const VectorWork& work() const { return work_; }
  const PackedForm& weights() const { return *weights_; }

  struct Rows {
    int64_t begin, end;
  };
  // Computes the rows of a block of columns; y is [rows, 32].
  void run(const std::byte* x, const Rows& rows, int64_t block, std::byte* y) const {
    const int64_t column = block * kVectorColumns;
    VectorProduct product{x + rows.begin * row_bytes_,
                          row_bytes_,
                          rows.end - rows.begin,
                          row_bytes_ / kVnniGroupBytes,
                          weights_->content().data() + block * row_bytes_ * kVectorColumns,
                          nullptr};
    product.columns = std::min(kVectorColumns, work_.order.columns - column);
    const float* bias = bias_.data() + column;
    end_.gate == RowGate::kNone ? end_in_registers(product, bias, y) : end_from_memory(product, bias, y);
  }

 private:
  void end_in_registers(VectorProduct& product, const float* bias, std::byte* y) const {
    const VectorOutput output{y, nullptr, kVectorColumns, end_.low, end_.high};
    product.initial = bias;
    product.output = &output;
    multiply_vectors(work_.element, product);
  }

  void end_from_memory(VectorProduct& product, const float* bias, std::byte* y) const {
    constexpr int64_t kMostSums = 96;  // rows of them: a quarter of a first cache
    alignas(64) std::array<float, kMostSums * kVectorColumns> sums;
    product.sums = sums.data();
    const bool narrow = work_.element == ElementType::kBFloat16;
    const int64_t y_bytes = kVectorColumns * static_cast<int64_t>(element_size(work_.element));
    for (int64_t left = product.rows; left > 0; left -= kMostSums) {
      product.rows = std::min(kMostSums, left);
      multiply_vectors(work_.element, product);
      store_tiles(
          {sums.data(), bias, nullptr, y, kVectorColumns, product.rows, product.columns, narrow, end_});
      product.x += product.rows * row_bytes_;
      product.fetches = false;
      y += product.rows * y_bytes;
    }
  }

  VectorWork work_;
  int64_t row_bytes_;
  std::shared_ptr<const PackedForm> weights_;
  LineVector bias_;
  ActivationEpilogue end_;
};

// How threads share the work: blocks of channels of all images, or lines of them, of which some that lie
// between are made twice.
struct Partitioning {
  int64_t partitions = 1;
  bool by_channels = true;
  int64_t lines_at_once = 1;  // of outputs
};

Partitioning choose_partitioning(const DepthwiseLines& depthwise, double flops) {
  constexpr int64_t kBytes = 32 * 1024;  // of lines between: less than a first cache
  constexpr int64_t kRows = 96;          // pixels that are worth fetching weights for
  const auto &y = depthwise.y(), &x = depthwise.x();
  const int64_t threads = threads_for(flops), lines = depthwise.batch() * y.output,
                blocks = depthwise.batch() * depthwise.blocks(), by_lines = std::min(threads, lines),
                by_channels = std::min(threads, blocks);
  // Divides what the busiest thread makes by its fair part of what all need.
  const auto excess = [](int64_t part, int64_t partitions, int64_t all) {
    return static_cast<double>(part * partitions) / static_cast<double>(all);
  };
  const int64_t each = in_parts(lines, by_lines),
                again = by_lines > 1 ? std::max<int64_t>(0, y.kernel - y.stride) : 0,
                line_bytes = x.input * kDepthwiseChannels * depthwise.element_bytes();
  const bool channels = excess(in_parts(blocks, by_channels), by_channels, blocks) <=
                        excess(each * y.stride + again, by_lines, lines * y.stride);
  const bool whole = y.input * line_bytes <= kBytes;
  return {channels ? by_channels : by_lines, channels,
          whole ? y.output : std::min(y.output, in_parts(kRows, x.input * y.stride))};
}

class PointwiseDepthwise : public Kernel {
 public:
  PointwiseDepthwise(Pointwise pointwise, DepthwiseLines depthwise, const Partitioning& partitioning)
      : pointwise_(std::move(pointwise)), depthwise_(std::move(depthwise)), partitioning_(partitioning) {
    name = "cpu:pointwise_depthwise";
    constexpr int64_t kPage = 4096;
    ring_ = y().kernel + (partitioning_.lines_at_once - 1) * y().stride;
    line_bytes_ = depthwise_.x().input * kDepthwiseChannels * depthwise_.element_bytes();
    partition_bytes_ = in_parts(ring_ * line_bytes_, kPage) * kPage;
    scratch_bytes = static_cast<size_t>(partition_bytes_ * partitioning_.partitions);
  }

  void prepare() const override { pointwise_.weights().content(); }
  bool is_prepared() const override { return pointwise_.weights().is_made(); }
  bool reads(size_t input) const override { return input == 0; }

  void run(const KernelArguments& arguments) const override {
    const int64_t lines = depthwise_.batch() * y().output, blocks = depthwise_.blocks(),
                  items = partitioning_.by_channels ? depthwise_.batch() * blocks : lines;
    parallel(partitioning_.partitions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition) {
        const int64_t first = items * partition / partitioning_.partitions,
                      last = items * (partition + 1) / partitioning_.partitions;
        std::byte* ring = arguments.scratch + partition * partition_bytes_;
        if (partitioning_.by_channels) {
          for (int64_t item = first; item < last; ++item)
            run_block(arguments, {item / blocks, 0, y().output}, item % blocks, ring);
        } else {
          run_lines(arguments, first, last, ring);
        }
      }
    });
  }

 private:
  // Lines of outputs of an image.
  struct Band {
    int64_t image, begin, end;
  };

  const ops::WindowAxis& y() const { return depthwise_.y(); }

  // Numbered through all images.
  void run_lines(const KernelArguments& arguments, int64_t first, int64_t last, std::byte* ring) const {
    while (first < last) {
      const int64_t image = first / y().output, before = image * y().output,
                    stop = std::min(last, before + y().output);
      for (int64_t block = 0; block < depthwise_.blocks(); ++block)
        run_block(arguments, {image, first - before, stop - before}, block, ring);
      first = stop;
    }
  }

  // Line n of what lies between is line n % ring_ of the ring.
  void run_block(const KernelArguments& arguments, const Band& band, int64_t block, std::byte* ring) const {
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    const int64_t pixels = depthwise_.x().input,
                  output_line = depthwise_.x().output * depthwise_.channels() * depthwise_.element_bytes();
    auto* output = static_cast<std::byte*>(arguments.outputs[0]) + band.image * y().output * output_line;
    int64_t made = 0;
    for (int64_t line = band.begin; line < band.end;) {
      const int64_t stop = std::min(band.end, line + partitioning_.lines_at_once),
                    needed = std::min(y().input, depthwise_.top(stop - 1) + y().kernel);
      for (made = std::max(made, depthwise_.top(line)); made < needed;) {
        const int64_t slot = made % ring_, next = std::min(needed, made + ring_ - slot),
                      before = band.image * y().input;
        pointwise_.run(x, {(before + made) * pixels, (before + next) * pixels}, block,
                       ring + slot * line_bytes_);
        made = next;
      }
      for (; line < stop; ++line) {
        const int64_t slot = (depthwise_.top(line) + y().pad_begin * ring_) % ring_;
        depthwise_.run({ring + slot * line_bytes_, kDepthwiseChannels, line, block,
                        output + line * output_line, ring_ - slot, ring_});
      }
    }
  }

  Pointwise pointwise_;
  DepthwiseLines depthwise_;
  Partitioning partitioning_;
  int64_t ring_;                          // lines
  int64_t line_bytes_, partition_bytes_;  // of what lies between
};

// A convolution whose sums end in one pass, and read nothing more.
struct Stage {
  ConstantConvolution convolution;
  RowEpilogue epilogue;
};

std::optional<Stage> stage_of(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? constant_convolution(*fused, request) : std::nullopt;
  if (!convolution || convolution->input != 0 || convolution->shape.axes.size() != 2) return std::nullopt;
  auto epilogue = RowEpilogue::of(*fused, request, 1, reason);
  if (!epilogue) return std::nullopt;
  return Stage{*convolution, std::move(*epilogue)};
}

std::optional<Pointwise> make_expand(const KernelRequest& request, Stage& stage) {
  const auto work = vector_work(stage.convolution);
  if (!work) return std::nullopt;
  const auto bias = stage.epilogue.take_bias(request, stage.convolution.bias);
  const auto end = stage.epilogue.as_one_pass();
  if (!end || end->residual >= 0) return std::nullopt;
  const Tensor& weights = *request.in(static_cast<size_t>(work->weights)).constant;
  return Pointwise(*work, pack_vectors(request, weights, work->order), bias, end->end);
}

std::optional<DepthwiseLines> make_depthwise(const KernelRequest& request, Stage& stage) {
  const ops::Convolution& shape = stage.convolution.shape;
  if (shape.in_channels != 1 || shape.out_channels != 1) return std::nullopt;
  const DepthwiseWeights weights = depthwise_weights(stage.convolution, request, stage.epilogue);
  return DepthwiseLines::of(stage.convolution, weights, stage.epilogue);
}

std::unique_ptr<Kernel> make_pointwise_depthwise(const KernelRequest& request, std::string& reason) {
  const std::vector<KernelRequest> members = member_requests(request);
  reason = "its convolutions are not computed as one";
  if (members.empty() || request.tactic != kTactic) return nullptr;
  const KernelRequest &first = members.front(), &last = members.back();
  auto before = stage_of(first, reason);
  auto after = before ? stage_of(last, reason) : std::nullopt;
  if (!after) return nullptr;
  auto pointwise = make_expand(first, *before);
  auto depthwise = pointwise ? make_depthwise(last, *after) : std::nullopt;
  if (!depthwise) return nullptr;
  const double products =
      static_cast<double>(first.out().size() * pointwise->work().order.channels) +
      static_cast<double>(last.out().size() * depthwise->y().kernel * depthwise->x().kernel);
  const Partitioning partitioning = choose_partitioning(*depthwise, 2 * products);
  auto kernel =
      std::make_unique<PointwiseDepthwise>(std::move(*pointwise), std::move(*depthwise), partitioning);
  kernel->contract = float_contract(request.out().element);
  kernel->contract.approximate = before->epilogue.is_approximate() || after->epilogue.is_approximate();
  kernel->contract.rounds_between = true;
  return kernel;
}

std::vector<std::string> tactics_pointwise_depthwise(const KernelRequest& /*request*/) {
  return has_bf16_tiles() || !has_vector_blocks() ? std::vector<std::string>()
                                                  : std::vector<std::string>{kTactic};
}

}  // namespace

void register_pointwise_depthwise(KernelRegistry& registry) {
  registry.add({"vernier", "Group/pointwise_depthwise", LayoutRule::kImage, Priority::kOwn,
                make_pointwise_depthwise, tactics_pointwise_depthwise});
}

}  // namespace vernier::cpu
