// Convolutions of int8 of a group for each channel: channels-last images by constant signed weights without
// a zero point, requantized with nothing between.
#include "vernier/backends/cpu/depthwise/int8_depthwise_loops.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/requantization.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "depthwise";
constexpr int64_t kSignedShift = 128;

struct Int8DepthwiseWork {
  QuantizedProduct product;
  ops::WindowAxis y, x;
  int64_t batch, channels;
};

std::optional<Int8DepthwiseWork> work_of(const KernelRequest& request, std::string& reason) {
  auto product = parse_quantized(request, reason);
  if (!product) return std::nullopt;
  reason = "no channels-last image by known weights, one channel a group";
  const Operand &x = request.in(product->a), &w = request.in(product->b), &y = request.out();
  if (!product->anchor->op.ends_with("Conv") || w.constant == nullptr || x.size() == 0 || y.size() == 0 ||
      !is_8bit(y.element) || x.rank() < 3 || x.rank() > 4 || x.layout != Layout::kChannelsLast ||
      y.layout != x.layout)
    return std::nullopt;
  const auto shape = ops::Convolution::of(*product->anchor, x.dims, w.dims);
  const auto dilates = [](const ops::WindowAxis& axis) { return axis.dilation != 1; };
  if (shape.in_channels != 1 || shape.out_channels != 1 ||
      std::any_of(shape.axes.begin(), shape.axes.end(), dilates))
    return std::nullopt;
  Int8DepthwiseWork work{std::move(*product), {}, shape.axes.back(), shape.batch, shape.groups};
  if (shape.axes.size() > 1) work.y = shape.axes.front();
  if (work.y.kernel > kMostLines || !has_int8_depthwise(work.x.kernel, work.x.stride)) return std::nullopt;
  return work;
}

// Constants of all blocks of channels, in the order of registers, none of which is read from two lines of
// memory.
struct Constants {
  template <class T>
  using Lines = std::vector<T, LineAllocator<T>>;
  Lines<int8_t> taps;
  Lines<int32_t> initial;
  Lines<float> scales, offsets;
};

class Int8Depthwise : public Kernel {
 public:
  Int8Depthwise(const Int8DepthwiseWork& work, const KernelRequest& request, const Tensor& weights,
                const PlainRequantization& result)
      : batch_(work.batch),
        channels_(work.channels),
        blocks_((channels_ + kInt8Channels - 1) / kInt8Channels),
        quads_((work.y.kernel + kQuad - 1) / kQuad),
        rows_(int8_depthwise_rows(work.y.kernel, work.x.kernel, work.y.stride)),
        y_(work.y),
        x_(work.x),
        input_(work.product.a),
        is_signed_(request.in(input_).element == ElementType::kInt8),
        result_(result) {
    name = "cpu:int8_depthwise";
    padding_.fill(static_cast<uint8_t>(static_cast<int32_t>(work.product.a_affine.zero_point)));
    contract = {ElementType::kFloat, ElementType::kInt32, request.out().element,
                NumericsContract::Order::kBlocked};
    const auto places = static_cast<size_t>(blocks_ * kInt8Channels);
    constants_.taps.resize(places * static_cast<size_t>(rows_ * quads_ * x_.kernel * kQuad));
    constants_.initial.resize(places), constants_.scales.resize(places), constants_.offsets.resize(places);
    for (int64_t channel = 0; channel < channels_; ++channel) {
      const auto* taps = static_cast<const int8_t*>(weights.raw()) + channel * y_.kernel * x_.kernel;
      const int64_t block = channel / kInt8Channels, number = channel % kInt8Channels;
      const int64_t pieces = int8_pieces(channels_ - block * kInt8Channels);
      for (int64_t piece = 0; piece < pieces; ++piece)
        place(channel, taps, block, piece * (kInt8Channels / pieces) + number);
    }
    result_.initial = nullptr, result_.scales = result_.offsets = nullptr;
  }

  void run(const KernelArguments& arguments) const override {
    // Threads that share lines mostly read what they wrote before. Few lines would leave some idle, so that
    // channels are shared, too.
    constexpr int64_t kLines = 6, kGrain = 1 << 15;  // of a thread; products
    const int64_t lines = batch_ * y_.output, line = x_.output * kInt8Channels * y_.kernel * x_.kernel;
    if (lines >= kLines * thread_count()) {
      parallel(lines, std::max<int64_t>(1, kGrain / (line * blocks_)), [&](int64_t first, int64_t last) {
        run_blocks(arguments, {first, last}, {0, blocks_});
      });
      return;
    }
    parallel(lines * blocks_, std::max<int64_t>(1, kGrain / line), [&](int64_t first, int64_t last) {
      while (first < last) {
        const int64_t block = first / lines, begin = first % lines;
        const int64_t whole = begin == 0 ? (last - first) / lines : 0;  // blocks
        const int64_t end = whole > 0 ? lines : std::min(lines, begin + last - first);
        run_blocks(arguments, {begin, end}, {block, block + std::max<int64_t>(whole, 1)});
        first += whole > 0 ? whole * lines : end - begin;
      }
    });
  }

  bool reads(size_t input) const override { return input == input_; }

 private:
  void place(int64_t channel, const int8_t* weights, int64_t block, int64_t number_in_block) {
    const int64_t at = int8_place(number_in_block);
    const auto number = static_cast<size_t>(block * kInt8Channels + at), own = static_cast<size_t>(channel);
    int64_t sum = 0;
    for (int64_t ky = 0; ky < y_.kernel; ++ky) {
      for (int64_t kx = 0; kx < x_.kernel; ++kx) {
        const int8_t weight = weights[ky * x_.kernel + kx];
        for (int64_t row = 0; row < rows_; ++row) {
          const int64_t line = ky + row * y_.stride,
                        column = ((block * rows_ + row) * quads_ + line / kQuad) * x_.kernel + kx;
          constants_.taps[static_cast<size_t>((column * kInt8Channels + at) * kQuad + line % kQuad)] = weight;
        }
        sum += weight;
      }
    }
    // The instruction takes int8 as uint8, which reads each value as 128 more than it is.
    constants_.initial[number] =
        result_.initial[own] - static_cast<int32_t>(is_signed_ ? sum * kSignedShift : 0);
    constants_.scales[number] = result_.scales[own];
    constants_.offsets[number] = result_.offsets[own];
  }

  struct Range {
    int64_t first, last;
  };

  int64_t taps_of_block() const { return rows_ * quads_ * x_.kernel * kInt8Channels * kQuad; }

  // Lines of all images, by as many blocks of channels at a time as leave their weights in the first cache.
  void run_blocks(const KernelArguments& arguments, Range lines, Range blocks) const {
    constexpr int64_t kCache = 16 * 1024;  // bytes
    const int64_t most = std::max<int64_t>(1, kCache / taps_of_block());
    for (int64_t block = blocks.first; block < blocks.last; block += most) {
      const int64_t last = std::min(block + most, blocks.last);
      for (int64_t line = lines.first, rows = 0; line < lines.last; line += rows) {
        const int64_t image = line / y_.output, y = line - image * y_.output;
        rows = std::min({rows_, lines.last - line, y_.output - y});
        run_lines(arguments, image, y, rows, {block, last});
      }
    }
  }

  // Neighbouring lines of an image.
  void run_lines(const KernelArguments& arguments, int64_t image, int64_t y, int64_t rows,
                 Range blocks) const {
    const int64_t channel = blocks.first * kInt8Channels;
    const auto places = static_cast<size_t>(channel);
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[input_]) + channel;
    Int8DepthwiseLines work{};
    work.lines.fill(padding_.data());
    for (int64_t i = 0; i < y_.kernel + (rows - 1) * y_.stride; ++i) {
      const int64_t row = y_.at(y, i);
      if (row < 0 || row >= y_.input) continue;
      work.lines[static_cast<size_t>(i)] = from + (image * y_.input + row) * x_.input * channels_;
      work.steps[static_cast<size_t>(i)] = channels_;
    }
    work.rows = rows;
    work.quads = quads_;
    work.to_row = x_.output * channels_, work.to_pixel = channels_;
    work.input_width = x_.input;
    work.padding = padding_[0];
    work.is_signed = is_signed_;
    work.kernel_width = x_.kernel;
    work.stride = x_.stride;
    work.pad = x_.pad_begin;
    work.weights = {constants_.taps.data() + blocks.first * taps_of_block(),
                    constants_.initial.data() + places, constants_.scales.data() + places,
                    constants_.offsets.data() + places};
    work.to_block = taps_of_block();
    work.result = result_;
    work.to = static_cast<uint8_t*>(arguments.outputs[0]) + (image * y_.output + y) * x_.output * channels_ +
              channel;
    work.outputs = x_.output;
    work.channels = std::min(blocks.last * kInt8Channels, channels_) - channel;
    int8_depthwise_lines(work);
  }

  int64_t batch_, channels_, blocks_, quads_, rows_;  // the last: lines of outputs at a time
  ops::WindowAxis y_, x_;
  size_t input_;
  bool is_signed_;
  std::array<uint8_t, kInt8Channels> padding_;  // what stands for 0
  PlainRequantization result_;
  Constants constants_;
};

std::vector<std::string> tactics_int8_depthwise(const KernelRequest& request) {
  std::string reason;
  return work_of(request, reason) ? std::vector<std::string>{kTactic} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_int8_depthwise(const KernelRequest& request, std::string& reason) {
  const auto work = request.tactic == kTactic ? work_of(request, reason) : std::nullopt;
  if (!work) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  reason = "int8 is multiplied by weights without a zero point";
  const auto weights = signed_weights(*request.in(work->product.b).constant, work->product.b_zero_points);
  if (!weights || weights->zero_point != 0) return nullptr;
  const int64_t taps = work->y.kernel * work->x.kernel;
  IntegerSums sums{std::vector<int64_t>(static_cast<size_t>(work->channels)), taps};
  const auto* values = static_cast<const int8_t*>(weights->content.raw());
  for (int64_t i = 0; i < weights->content.size(); ++i)
    sums.weights[static_cast<size_t>(i / taps)] += values[i];
  const auto epilogue = IntegerEpilogue::of(work->product, request, sums, 1, reason);
  const auto plain = epilogue ? epilogue->as_plain() : std::nullopt;
  if (!plain) {
    reason = "something is added, or rounded, between the sums and the result";
    return nullptr;
  }
  return std::make_unique<Int8Depthwise>(*work, request, weights->content, *plain);
}

}  // namespace

void register_int8_depthwise(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qconv", LayoutRule::kImage, Priority::kNarrow, make_int8_depthwise,
                tactics_int8_depthwise});
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "QLinearConv", LayoutRule::kImage, Priority::kNarrow, make_int8_depthwise,
                  tactics_int8_depthwise});
}

}  // namespace vernier::cpu
