#include "vernier/backends/cpu/depthwise/depthwise_vectors.h"

#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

namespace {

class DepthwiseVectors : public Kernel {
 public:
  DepthwiseVectors(const ConstantConvolution& convolution, DepthwiseLines lines, bool approximate)
      : input_(convolution.input), lines_(std::move(lines)) {
    const bool floats = convolution.element == ElementType::kFloat;
    name = floats ? "cpu:depthwise:vectors" : "cpu:depthwise:bf16";
    contract = float_contract(convolution.element);
    contract.approximate = approximate;
    // Taps and lines of pixels, which lines of outputs share, stay in the first cache.
    constexpr int64_t kCache = 16 * 1024, kLeast = 2;  // bytes; blocks of channels
    const int64_t in_line = lines_.x().input * static_cast<int64_t>(element_size(convolution.element)),
                  taps = lines_.x().kernel * static_cast<int64_t>(sizeof(float)),
                  block = kDepthwiseChannels * lines_.y().kernel * (in_line + taps);
    group_ = std::min(std::max(kCache / block, kLeast), lines_.blocks());
    sums_ = lines_.x().kernel * lines_.y().kernel * lines_.x().output *
            std::min(convolution.shape.groups, group_ * kDepthwiseChannels);
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 15, kFewLines = 12;  // sums
    const int64_t lines = lines_.batch() * lines_.y().output,
                  groups = (lines_.blocks() + group_ - 1) / group_;
    if (lines >= kFewLines) {
      parallel(lines, std::max<int64_t>(1, kGrain / (sums_ * groups)), [&](int64_t first, int64_t last) {
        for (int64_t group = 0; group < groups; ++group) {
          for (int64_t line = first; line < last; ++line) run_line(arguments, line, group);
        }
      });
      return;
    }
    // Few lines leave threads idle, so their channels are shared, too.
    parallel(lines * groups, std::max<int64_t>(1, kGrain / sums_), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) run_line(arguments, i % lines, i / lines);
    });
  }

  bool reads(size_t input) const override { return static_cast<int>(input) == input_; }

 private:
  // A line of all images, and a group of blocks of channels.
  void run_line(const KernelArguments& arguments, int64_t line, int64_t group) const {
    const int64_t image = line / lines_.y().output, y = line % lines_.y().output,
                  from = image * lines_.y().input + lines_.top(y);
    const int64_t pixel = lines_.channels() * lines_.element_bytes();
    const auto* input =
        static_cast<const std::byte*>(arguments.inputs[input_]) + from * lines_.x().input * pixel;
    auto* output = static_cast<std::byte*>(arguments.outputs[0]) + line * lines_.x().output * pixel;
    for (int64_t block = group * group_; block < std::min((group + 1) * group_, lines_.blocks()); ++block)
      lines_.run(
          {input + block * kDepthwiseChannels * lines_.element_bytes(), lines_.channels(), y, block, output});
  }

  int input_;
  DepthwiseLines lines_;
  int64_t group_;  // blocks of channels that lines are taken through
  int64_t sums_;   // of a line and a group
};

// Gives the epilogue that the loops can compute.
std::optional<ActivationEpilogue> end_of(ElementType element, const RowEpilogue& epilogue) {
  if (element != ElementType::kFloat && element != ElementType::kBFloat16) return std::nullopt;
  const auto end = epilogue.as_one_pass();
  return end && end->residual < 0 && end->end.gate <= RowGate::kSwish ? std::optional(end->end)
                                                                      : std::nullopt;
}

}  // namespace

DepthwiseWeights depthwise_weights(const ConstantConvolution& convolution, const KernelRequest& request,
                                   RowEpilogue& epilogue) {
  const Tensor& w = *request.in(static_cast<size_t>(convolution.weights)).constant;
  const int64_t channels = convolution.shape.groups, taps = w.size() / channels;
  DepthwiseWeights weights{std::vector<float>(static_cast<size_t>(w.size())),
                           epilogue.take_bias(request, convolution.bias)};
  weights.initial.resize(static_cast<size_t>(channels));
  std::vector<float> buffer(weights.taps.size());
  const float* from = load_floats(w.type(), w.raw(), 0, w.size(), buffer.data());
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap)
      weights.taps[static_cast<size_t>(tap * channels + channel)] = from[channel * taps + tap];
  }
  return weights;
}

DepthwiseLines::DepthwiseLines(const ConstantConvolution& convolution, const DepthwiseWeights& weights,
                               const ActivationEpilogue& end)
    : batch_(convolution.shape.batch),
      channels_(convolution.shape.groups),
      y_(convolution.shape.axes.size() == 1 ? ops::WindowAxis() : convolution.shape.axes.front()),
      x_(convolution.shape.axes.back()),
      element_(convolution.element),
      taps_(depthwise_blocks(element_, weights.taps, channels_)),
      initial_(depthwise_blocks(element_, weights.initial, channels_)),
      end_(end) {}

std::optional<DepthwiseLines> DepthwiseLines::of(const ConstantConvolution& convolution,
                                                 const DepthwiseWeights& weights,
                                                 const RowEpilogue& epilogue) {
  const auto& axes = convolution.shape.axes;
  const auto& x = axes.back();
  const auto end = end_of(convolution.element, epilogue);
  if (!end || axes.front().dilation != 1 || !has_depthwise_vectors(x.kernel, x.stride, x.dilation))
    return std::nullopt;
  return DepthwiseLines(convolution, weights, *end);
}

void DepthwiseLines::run(const Line& line) const {
  // The lines of taps inside the image.
  const int64_t first = std::clamp<int64_t>(-top(line.line), 0, y_.kernel),
                last = std::clamp(y_.input - top(line.line), first, y_.kernel),
                in_line = x_.input * line.pixel, channel = line.block * kDepthwiseChannels;
  depthwise_vector_line(
      {element_, line.input, in_line, line.pixel, x_.input, taps_.data() + channel * y_.kernel * x_.kernel,
       initial_.data() + channel, first, last, x_.kernel, x_.stride, x_.pad_begin, x_.output,
       line.output + channel * element_bytes(), channels_, std::min(kDepthwiseChannels, channels_ - channel),
       end_, line.ring_start, line.ring_lines * in_line});
}

std::unique_ptr<Kernel> make_depthwise_vectors(const ConstantConvolution& convolution,
                                               const DepthwiseWeights& weights, const RowEpilogue& epilogue) {
  auto lines = DepthwiseLines::of(convolution, weights, epilogue);
  if (!lines) return nullptr;
  return std::make_unique<DepthwiseVectors>(convolution, std::move(*lines), epilogue.is_approximate());
}

}  // namespace vernier::cpu
