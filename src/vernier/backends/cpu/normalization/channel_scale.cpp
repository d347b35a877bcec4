// Mul of channels-last images of bfloat16 by a number for each channel of each image: the gates of
// squeeze-and-excitation.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/normalization/channel_scale_loops.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

namespace {

class ChannelScale : public Kernel {
 public:
  ChannelScale(const Operand& y, int image)
      : images_(y.dims[0]), channels_(y.dims[1]), pixels_(y.size() / (images_ * channels_)), image_(image) {
    name = "cpu:channel_scale";
    contract = {ElementType::kFloat, ElementType::kUndefined, ElementType::kBFloat16};
    in_place = image;
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 14;
    const auto* x = static_cast<const uint16_t*>(arguments.inputs[image_]);
    const auto* scale = static_cast<const uint16_t*>(arguments.inputs[1 - image_]);
    auto* y = static_cast<uint16_t*>(arguments.outputs[0]);
    parallel(images_ * pixels_, std::max<int64_t>(1, kGrain / channels_), [&](int64_t first, int64_t last) {
      for (int64_t image = first / pixels_; image * pixels_ < last; ++image) {
        const int64_t begin = std::max(first, image * pixels_), end = std::min(last, (image + 1) * pixels_);
        scale_channels({x + begin * channels_, scale + image * channels_, y + begin * channels_, end - begin,
                        channels_});
      }
    });
  }

 private:
  int64_t images_, channels_, pixels_;
  int image_;  // which input; the other one holds the factors
};

bool is_image(const Operand& operand, const Operand& y) {
  return operand.dims == y.dims && operand.layout == Layout::kChannelsLast;
}

// [N, C, 1…], whose memory is the same in both layouts.
bool is_scale(const Operand& operand, const Operand& y) {
  return operand.rank() == y.rank() && operand.layout != Layout::kBlocked16 &&
         operand.size() == y.dims[0] * y.dims[1] && operand.dims[0] == y.dims[0] &&
         operand.dims[1] == y.dims[1];
}

std::unique_ptr<Kernel> make_channel_scale(const KernelRequest& request, std::string& reason) {
  reason = "no image of bfloat16 by factors for its channels";
  const Operand &a = request.in(0), &b = request.in(1), &y = request.out();
  const auto is_narrow = [](const Operand& each) { return each.element == ElementType::kBFloat16; };
  if (!has_channel_scale() || !is_narrow(a) || !is_narrow(b) || !is_narrow(y) || y.rank() < 3 ||
      y.layout != Layout::kChannelsLast || y.size() == 0)
    return nullptr;
  for (const int image : {0, 1}) {
    const Operand &x = image == 0 ? a : b, &scale = image == 0 ? b : a;
    if (is_image(x, y) && is_scale(scale, y)) return std::make_unique<ChannelScale>(y, image);
  }
  return nullptr;
}

}  // namespace

void register_channel_scale(KernelRegistry& registry) {
  registry.add({"", "Mul", LayoutRule::kFollow, Priority::kNarrow, make_channel_scale});
}

}  // namespace vernier::cpu
