// Conv of a group for each channel: channels-last floats, of any storage, by constant weights, with what
// follows.
#include "vernier/backends/cpu/depthwise/depthwise_loops.h"
#include "vernier/backends/cpu/depthwise/depthwise_vectors.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "depthwise";

ops::WindowAxis lines_of(const ops::Convolution& shape) {
  return shape.axes.size() == 1 ? ops::WindowAxis() : shape.axes.front();
}

// How the work is cut: into lines of the output, and groups of neighbouring channels.
struct Pieces {
  int64_t lines, channels;  // of a group
  bool line_by_line;        // threads share lines; else groups, too, of which they take one after the other
};

// The lines that one line of outputs reads stay in the first cache until the next line reads them, too.
Pieces pieces_of(const ops::Convolution& shape) {
  constexpr int64_t kBytes = 32 * 1024, kLeast = 64, kMost = 512, kShared = 128, kVector = 16,
                    kManyLines = 32;
  const ops::WindowAxis y = lines_of(shape), &x = shape.axes.back();
  const int64_t lines = shape.batch * y.output, channels = shape.groups;
  const bool line_by_line = lines >= kManyLines || lines % thread_count() == 0;
  const int64_t each = (y.kernel * x.input + x.output) * static_cast<int64_t>(sizeof(float));
  const int64_t most =
      line_by_line ? std::clamp(kBytes / std::max<int64_t>(1, each), kLeast, kMost) : kShared;
  const int64_t groups = (channels + most - 1) / most, equal = (channels + groups - 1) / groups;
  return {lines, std::min(channels, (equal + kVector - 1) / kVector * kVector), line_by_line};
}

class Depthwise : public Kernel {
 public:
  // Taps of `weights`: for each group of neighbouring channels [taps, channels].
  Depthwise(const ConstantConvolution& convolution, const DepthwiseWeights& weights, RowEpilogue epilogue)
      : channels_(convolution.shape.groups),
        y_(lines_of(convolution.shape)),
        x_(convolution.shape.axes.back()),
        element_(convolution.element),
        input_(convolution.input),
        taps_(weights.taps.begin(), weights.taps.end()),
        initial_(weights.initial.begin(), weights.initial.end()),
        epilogue_(std::move(epilogue)),
        pieces_(pieces_of(convolution.shape)) {
    name = "cpu:depthwise";
    contract = float_contract(element_);
    contract.approximate = epilogue_.is_approximate();
    finite_ = std::all_of(taps_.begin(), taps_.end(), [](float tap) { return std::isfinite(tap); });
    if (element_ != ElementType::kFloat) return;
    if (const auto one_pass = epilogue_.as_one_pass(); one_pass && one_pass->residual < 0)
      end_ = one_pass->end;
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 14;  // sums
    const int64_t groups = (channels_ + pieces_.channels - 1) / pieces_.channels, lines = pieces_.lines;
    const int64_t items = pieces_.line_by_line ? lines : lines * groups;
    const int64_t each = x_.output * x_.kernel * y_.kernel *
                         (pieces_.line_by_line ? channels_ : std::min(pieces_.channels, channels_));
    parallel(items, kGrain / std::max<int64_t>(1, each), [&](int64_t first, int64_t last) {
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t before = pieces_.line_by_line ? 0 : group * lines;
        for (int64_t line = std::max(first - before, int64_t{0}); line < std::min(last - before, lines);
             ++line)
          run_line(arguments, line, group * pieces_.channels);
      }
    });
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == input_ || epilogue_.reads(index);
  }

 private:
  // A line of all images, and some channels.
  void run_line(const KernelArguments& arguments, int64_t line, int64_t channel) const {
    constexpr int64_t kBuffer = 4096;
    alignas(64) float buffer[kBuffer];
    const int64_t image = line / y_.output, y = line % y_.output,
                  count = std::min(pieces_.channels, channels_ - channel);
    const int64_t in_line = x_.input * channels_, top = y * y_.stride - y_.pad_begin;
    // The lines of taps inside the image.
    int64_t first = 0, last = y_.kernel;
    while (first < last && top + first * y_.dilation < 0) ++first;
    while (last > first && top + (last - 1) * y_.dilation >= y_.input) --last;
    const auto* from = static_cast<const std::byte*>(arguments.inputs[input_]);
    from += ((image * y_.input + top) * in_line + channel) * static_cast<int64_t>(element_size(element_));
    // Floats are summed where they belong, others in a buffer that stays in the first cache.
    const bool direct = element_ == ElementType::kFloat;
    const int64_t outputs = direct ? x_.output : kBuffer / count, stride = direct ? channels_ : count;
    const float* taps = taps_.data() + channel * y_.kernel * x_.kernel;
    const ActivationEpilogue rest = end_.value_or(ActivationEpilogue());
    for (int64_t x = 0; x < x_.output; x += outputs) {
      const int64_t end = std::min(x + outputs, x_.output), output = line * x_.output + x;
      float* to = direct ? static_cast<float*>(arguments.outputs[0]) + output * channels_ + channel : buffer;
      depthwise_line({element_,
                      from,
                      in_line,
                      channels_,
                      x_.input,
                      taps,
                      initial_.data() + channel,
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
                      rest.low,
                      rest.high,
                      rest.gate == RowGate::kNone ? 0 : rest.swish,
                      finite_});
      if (!end_) epilogue_.finish(arguments, {to, stride, output, channel, end - x, count});
    }
  }

  int64_t channels_;
  ops::WindowAxis y_, x_;
  ElementType element_;
  int input_;
  LineVector taps_, initial_;
  RowEpilogue epilogue_;
  Pieces pieces_;
  std::optional<ActivationEpilogue> end_;  // which then is all that follows
  bool finite_;                            // all weights
};

// Rows [taps, channels] as such rows of each group of neighbouring channels.
std::vector<float> in_groups(const std::vector<float>& rows, int64_t channels, int64_t group) {
  const int64_t taps = static_cast<int64_t>(rows.size()) / channels;
  std::vector<float> result;
  result.reserve(rows.size());
  for (int64_t first = 0; first < channels; first += group) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const auto row = rows.begin() + tap * channels + first;
      result.insert(result.end(), row, row + std::min(group, channels - first));
    }
  }
  return result;
}

// Nothing but for one channel a group.
std::optional<ConstantConvolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  auto convolution = constant_convolution(fused, request);
  const bool fits =
      convolution && convolution->shape.in_channels == 1 && convolution->shape.out_channels == 1;
  return fits ? convolution : std::nullopt;
}

std::vector<std::string> tactics_depthwise(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  return fused && convolution_of(*fused, request) ? std::vector<std::string>{kTactic}
                                                  : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_depthwise(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  const auto convolution =
      fused && request.tactic == kTactic ? convolution_of(*fused, request) : std::nullopt;
  if (!convolution) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  auto epilogue = RowEpilogue::of(*fused, request, 1, reason);
  if (!epilogue) return nullptr;
  DepthwiseWeights weights = depthwise_weights(*convolution, request, *epilogue);
  if (auto vectors = make_depthwise_vectors(*convolution, weights, *epilogue)) return vectors;
  weights.taps = in_groups(weights.taps, convolution->shape.groups, pieces_of(convolution->shape).channels);
  return std::make_unique<Depthwise>(*convolution, weights, std::move(*epilogue));
}

}  // namespace

void register_depthwise(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, Priority::kNarrow, make_depthwise, tactics_depthwise});
  registry.add(
      {"vernier", "Group/conv", LayoutRule::kImage, Priority::kNarrow, make_depthwise, tactics_depthwise});
}

}  // namespace vernier::cpu
