#include "vernier/backends/cpu/kernels/depthwise_vectors.h"

#include "vernier/backends/cpu/kernels/depthwise_vector_loops.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

class DepthwiseVectors : public Kernel {
 public:
  DepthwiseVectors(const ConstantConvolution& convolution, const std::vector<float>& taps,
                   const std::vector<float>& start, const RowEpilogue& epilogue, const RowEnd& end)
      : batch_(convolution.shape.batch),
        channels_(convolution.shape.groups),
        y_(convolution.shape.axes.size() == 1 ? ops::WindowAxis() : convolution.shape.axes.front()),
        x_(convolution.shape.axes.back()),
        input_(convolution.input),
        element_(convolution.element),
        taps_(depthwise_blocks(element_, taps, channels_)),
        start_(depthwise_blocks(element_, start, channels_)),
        end_(end) {
    name = element_ == ElementType::kFloat ? "cpu:depthwise:vectors" : "cpu:depthwise:bf16";
    contract = float_contract(element_);
    contract.approximate = epilogue.is_approximate();
    // What lines of outputs share, taps and lines of pixels, stays in the first cache.
    constexpr int64_t kCache = 16 * 1024, kLeast = 2;  // bytes; blocks of channels
    const int64_t block = kDepthwiseChannels * y_.kernel *
                          (x_.input * element_bytes() + x_.kernel * static_cast<int64_t>(sizeof(float)));
    group_ = std::min(std::max(kCache / block, kLeast), blocks());
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 15, kFewLines = 12;  // sums
    const int64_t lines = batch_ * y_.output, groups = (blocks() + group_ - 1) / group_;
    const auto some = [&](int64_t first, int64_t last, int64_t group) {
      for (int64_t line = first; line < last; ++line) run_line(arguments, line, group * group_);
    };
    const int64_t pixel =
        x_.kernel * y_.kernel * x_.output * std::min(channels_, group_ * kDepthwiseChannels);
    if (lines >= kFewLines) {
      parallel(lines, std::max<int64_t>(1, kGrain / (pixel * groups)), [&](int64_t first, int64_t last) {
        for (int64_t group = 0; group < groups; ++group) some(first, last, group);
      });
      return;
    }
    // Few lines leave threads idle, so their channels are shared, too.
    parallel(lines * groups, std::max<int64_t>(1, kGrain / pixel), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) some(i % lines, i % lines + 1, i / lines);
    });
  }

  bool reads(size_t input) const override { return static_cast<int>(input) == input_; }

 private:
  int64_t element_bytes() const { return static_cast<int64_t>(element_size(element_)); }
  int64_t blocks() const { return (channels_ + kDepthwiseChannels - 1) / kDepthwiseChannels; }

  // A line of all images, and a group of blocks of channels.
  void run_line(const KernelArguments& arguments, int64_t line, int64_t first_block) const {
    const int64_t image = line / y_.output, top = line % y_.output * y_.stride - y_.pad_begin,
                  in_line = x_.input * channels_;
    // The lines of taps inside the image.
    const int64_t first = std::clamp<int64_t>(-top, 0, y_.kernel),
                  last = std::clamp(y_.input - top, first, y_.kernel);
    const auto* from = static_cast<const std::byte*>(arguments.inputs[input_]) +
                       (image * y_.input + top) * in_line * element_bytes();
    auto* to = static_cast<std::byte*>(arguments.outputs[0]) + line * x_.output * channels_ * element_bytes();
    for (int64_t block = first_block; block < std::min(first_block + group_, blocks()); ++block) {
      const int64_t channel = block * kDepthwiseChannels;
      depthwise_vector_line({element_, from + channel * element_bytes(), in_line, channels_, x_.input,
                             taps_.data() + channel * y_.kernel * x_.kernel, start_.data() + channel, first,
                             last, x_.kernel, x_.stride, x_.pad_begin, x_.output,
                             to + channel * element_bytes(),
                             std::min(kDepthwiseChannels, channels_ - channel), end_});
    }
  }

  int64_t batch_, channels_;
  ops::WindowAxis y_, x_;
  int input_;
  ElementType element_;
  std::vector<float> taps_, start_;
  RowEnd end_;
  int64_t group_;  // blocks of channels that lines are taken through
};

// What the loops end sums with.
std::optional<RowEnd> end_of(ElementType element, const RowEpilogue& epilogue) {
  if (element != ElementType::kFloat && element != ElementType::kBFloat16) return std::nullopt;
  const auto end = epilogue.as_one_pass();
  return end && end->residual < 0 && end->end.gate <= RowGate::kSwish ? std::optional(end->end)
                                                                      : std::nullopt;
}

}  // namespace

std::unique_ptr<Kernel> make_depthwise_vectors(const ConstantConvolution& convolution,
                                               const std::vector<float>& taps,
                                               const std::vector<float>& start, const RowEpilogue& epilogue) {
  const auto& axes = convolution.shape.axes;
  const auto& x = axes.back();
  const auto end = end_of(convolution.element, epilogue);
  if (!end || axes.front().dilation != 1 || !has_depthwise_vectors(x.kernel, x.stride, x.dilation))
    return nullptr;
  return std::make_unique<DepthwiseVectors>(convolution, taps, start, epilogue, *end);
}

}  // namespace vernier::cpu
