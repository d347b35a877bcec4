// Conv of a group for each channel: channels-last floats, of any storage, by constant weights, with what
// follows.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/constant_convolution.h"
#include "vernier/backends/cpu/kernels/depthwise_loops.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/kernels/row_epilogue.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "depthwise";
constexpr int64_t kBuffer = 512;  // channels at a time

struct Weights {
  std::vector<float> taps;   // [taps, channels]
  std::vector<float> start;  // [channels]: the bias
};

class Depthwise : public Kernel {
 public:
  Depthwise(const ConstantConvolution& convolution, Weights weights, RowEpilogue epilogue)
      : batch_(convolution.shape.batch),
        channels_(convolution.shape.groups),
        y_(convolution.shape.axes.size() == 1 ? ops::WindowAxis() : convolution.shape.axes.front()),
        x_(convolution.shape.axes.back()),
        element_(convolution.element),
        input_(convolution.input),
        weights_(std::move(weights)),
        epilogue_(std::move(epilogue)),
        group_(channels_) {
    name = "cpu:depthwise";
    contract = float_contract(element_);
    contract.approximate = epilogue_.is_approximate();
    // Few lines leave threads idle, so their channels are shared, too, by whole cache lines.
    constexpr int64_t kLines = 32, kGroup = 64;
    if (batch_ * y_.output < kLines || element_ != ElementType::kFloat)
      group_ = std::min(channels_, batch_ * y_.output < kLines ? kGroup : kBuffer);
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t groups = (channels_ + group_ - 1) / group_;
    constexpr int64_t kGrain = 1 << 14;  // sums
    const int64_t each = x_.output * std::min(group_, channels_) * x_.kernel * y_.kernel;
    parallel(batch_ * y_.output * groups, std::max<int64_t>(1, kGrain / each),
             [&](int64_t first, int64_t last) {
               for (int64_t i = first; i < last; ++i) run_line(arguments, i / groups, i % groups * group_);
             });
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == input_ || epilogue_.reads(index);
  }

 private:
  // A line of all images, and some channels.
  void run_line(const KernelArguments& arguments, int64_t line, int64_t channel) const {
    constexpr int64_t kOutputs = 8;  // at least, at a time
    alignas(64) float buffer[kOutputs * kBuffer];
    const int64_t image = line / y_.output, y = line % y_.output,
                  count = std::min(group_, channels_ - channel);
    const int64_t in_line = x_.input * channels_, top = y * y_.stride - y_.pad_begin;
    // The lines of taps inside the image.
    int64_t first = 0, last = y_.kernel;
    while (first < last && top + first * y_.dilation < 0) ++first;
    while (last > first && top + (last - 1) * y_.dilation >= y_.input) --last;
    const auto* from = static_cast<const std::byte*>(arguments.inputs[input_]);
    from += ((image * y_.input + top) * in_line + channel) * static_cast<int64_t>(element_size(element_));
    // Floats are summed where they belong, others in a buffer that stays in the first cache.
    const bool direct = element_ == ElementType::kFloat;
    const int64_t outputs = direct ? x_.output : kOutputs * kBuffer / count,
                  stride = direct ? channels_ : count;
    for (int64_t x = 0; x < x_.output; x += outputs) {
      const int64_t end = std::min(x + outputs, x_.output), output = line * x_.output + x;
      float* to = direct ? static_cast<float*>(arguments.outputs[0]) + output * channels_ + channel : buffer;
      depthwise_line({element_,
                      from,
                      in_line,
                      channels_,
                      x_.input,
                      weights_.taps.data() + channel,
                      weights_.start.data() + channel,
                      first,
                      last,
                      x_.kernel,
                      x_.stride,
                      x_.dilation,
                      x_.pad_begin,
                      y_.dilation,
                      x,
                      end,
                      to,
                      stride,
                      count,
                      channels_});
      epilogue_.finish(arguments, {to, stride, output, channel, end - x, count});
    }
  }

  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
  ElementType element_;
  int input_;
  Weights weights_;
  RowEpilogue epilogue_;
  int64_t group_;  // channels that one thread computes of a line
};

// Nothing but for one channel a group.
std::optional<ConstantConvolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  auto convolution = constant_convolution(fused, request);
  const bool fits =
      convolution && convolution->shape.in_channels == 1 && convolution->shape.out_channels == 1;
  return fits ? convolution : std::nullopt;
}

std::vector<std::string> tactics(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  return fused && convolution_of(*fused, request) ? std::vector<std::string>{kTactic}
                                                  : std::vector<std::string>();
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  const auto convolution =
      fused && request.tactic == kTactic ? convolution_of(*fused, request) : std::nullopt;
  if (!convolution) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  auto epilogue = RowEpilogue::of(*fused, request, 1, reason);
  if (!epilogue) return nullptr;
  const Tensor& w = *request.in(static_cast<size_t>(convolution->weights)).constant;
  const int64_t channels = convolution->shape.groups, taps = w.size() / channels;
  Weights weights{std::vector<float>(static_cast<size_t>(w.size())),
                  epilogue->take_bias(request, convolution->bias)};
  weights.start.resize(static_cast<size_t>(channels));
  std::vector<float> buffer(weights.taps.size());
  const float* from = load_floats(w.type(), w.raw(), 0, w.size(), buffer.data());
  for (int64_t i = 0; i < w.size(); ++i)
    weights.taps[static_cast<size_t>(i % taps * channels + i / taps)] = from[i];
  return std::make_unique<Depthwise>(*convolution, std::move(weights), std::move(*epilogue));
}

}  // namespace

void register_depthwise(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, make, tactics});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, make, tactics});
}

}  // namespace vernier::cpu
