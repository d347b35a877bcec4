// Conv of a group for each channel: channels-last floats by constant weights, with what follows.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/depthwise_loops.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/kernels/row_epilogue.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/convolution.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "depthwise";

struct Weights {
  std::vector<float> taps;   // [taps, channels]
  std::vector<float> start;  // [channels]: the bias
};

class Depthwise : public Kernel {
 public:
  Depthwise(ops::Convolution convolution, int input, std::set<int> packed, Weights weights,
            std::vector<RowPost> posts)
      : batch_(convolution.batch),
        channels_(convolution.groups),
        y_(convolution.axes.size() == 1 ? ops::WindowAxis() : convolution.axes.front()),
        x_(convolution.axes.back()),
        input_(input),
        packed_(std::move(packed)),
        weights_(std::move(weights)),
        posts_(std::move(posts)),
        group_(channels_) {
    name = "cpu:depthwise";
    contract = float_contract(ElementType::kFloat);
    contract.approximate = is_approximate(posts_);
    // Few lines leave threads idle, so their channels are shared, too, by whole cache lines.
    constexpr int64_t kLines = 32, kGroup = 64;
    if (batch_ * y_.output < kLines) group_ = std::min(channels_, kGroup);
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

  bool reads(size_t input) const override { return !packed_.contains(static_cast<int>(input)); }

 private:
  // A line of all images, and some channels.
  void run_line(const KernelArguments& arguments, int64_t line, int64_t channel) const {
    const int64_t image = line / y_.output, y = line % y_.output,
                  count = std::min(group_, channels_ - channel);
    const int64_t in_line = x_.input * channels_, offset = line * x_.output * channels_ + channel;
    const int64_t top = y * y_.stride - y_.pad_begin;
    // The lines of taps inside the image.
    int64_t first = 0, last = y_.kernel;
    while (first < last && top + first * y_.dilation < 0) ++first;
    while (last > first && top + (last - 1) * y_.dilation >= y_.input) --last;
    auto* to = static_cast<float*>(arguments.outputs[0]) + offset;
    const auto* from = static_cast<const float*>(arguments.inputs[input_]);
    depthwise_line({from + (image * y_.input + top) * in_line + channel, in_line, channels_, x_.input,
                    weights_.taps.data() + channel, weights_.start.data() + channel, first, last, x_.kernel,
                    x_.stride, x_.dilation, x_.pad_begin, y_.dilation, to, x_.output, count, channels_});
    for (const RowPost& each : posts_) {
      const bool all = each.operand == RowPost::Operand::kRows;
      const float* operand = nullptr;
      if (each.post.operand >= 0) operand = static_cast<const float*>(arguments.inputs[each.post.operand]);
      if (all) operand += offset;
      if (each.operand == RowPost::Operand::kRow) operand += channel;
      apply_post(each, {to, channels_, to, channels_, x_.output, count}, operand, all ? channels_ : 0);
    }
  }

  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
  int input_;
  std::set<int> packed_;  // inputs
  Weights weights_;
  std::vector<RowPost> posts_;
  int64_t group_;  // channels that one thread computes of a line
};

// Nothing but for floats, one channel a group, channels last.
std::optional<ops::Convolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  const auto operand = [&](size_t i) { return request.in(static_cast<size_t>(fused.inputs[i])); };
  const Operand x = operand(0), w = operand(1), &y = request.out();
  if (x.element != ElementType::kFloat || w.element != x.element || y.element != x.element ||
      w.constant == nullptr || fused.inputs[0] == fused.inputs[1] || x.layout != Layout::kChannelsLast ||
      y.layout != x.layout || x.rank() < 3 || x.rank() > 4 || y.size() == 0 || w.size() == 0)
    return std::nullopt;
  auto convolution = ops::Convolution::of(*fused.anchor, x.dims, w.dims);
  if (convolution.in_channels != 1 || convolution.out_channels != 1) return std::nullopt;
  return convolution;
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
  auto posts = row_posts(*fused, request, 1);
  const int bias_input = fused->inputs.size() > 2 ? fused->inputs[2] : -1;
  const Tensor* bias = bias_input >= 0 ? request.in(static_cast<size_t>(bias_input)).constant : nullptr;
  if (!posts || (bias_input >= 0 && bias == nullptr)) {
    reason = "the epilogue does not go row by row";
    return nullptr;
  }
  if (bias_input < 0) bias = take_row_bias(*posts, request);
  const Tensor& w = *request.in(static_cast<size_t>(fused->inputs[1])).constant;
  const int64_t channels = convolution->groups, taps = w.size() / channels;
  Weights weights{std::vector<float>(static_cast<size_t>(w.size())),
                  std::vector<float>(static_cast<size_t>(channels))};
  const auto* from = static_cast<const float*>(w.raw());
  for (int64_t i = 0; i < w.size(); ++i)
    weights.taps[static_cast<size_t>(i % taps * channels + i / taps)] = from[i];
  if (bias != nullptr) std::copy_n(static_cast<const float*>(bias->raw()), channels, weights.start.begin());
  std::set<int> packed{fused->inputs[1]};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const auto index = static_cast<int>(i);
    const bool is_read = std::any_of(posts->begin(), posts->end(),
                                     [&](const RowPost& each) { return each.post.operand == index; });
    if (index != fused->inputs[0] && !is_read) packed.insert(index);
  }
  return std::make_unique<Depthwise>(*convolution, fused->inputs[0], std::move(packed), std::move(weights),
                                     std::move(*posts));
}

}  // namespace

void register_depthwise(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, make, tactics});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, make, tactics});
}

}  // namespace vernier::cpu
