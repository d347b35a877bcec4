// QuantizeLinear of pictures: planes of floats become channels-last bytes in one pass.
#include "vernier/backends/cpu/kernels/image_quantisation.h"

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/transpose_tiles.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/backends/cpu/quantised.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kFewest = 2, kMost = 4;  // planes: what is one is in place, and many are images of features
constexpr int64_t kPixels = 1024;          // at a time, which stay in the first cache

class ImageQuantisation : public Kernel {
 public:
  ImageQuantisation(const KernelRequest& request, const Affine& affine)
      : batch_(request.in(0).dims[0]),
        planes_(request.in(0).dims[1]),
        pixels_(request.in(0).dims[2] * request.in(0).dims[3]),
        affine_(affine),
        loop_(quantize_loop(request.out().element)) {
    name = "cpu:image_quantisation";
    contract = {ElementType::kFloat, ElementType::kFloat, request.out().element};
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 8;
    const int64_t blocks = (pixels_ + kPixels - 1) / kPixels;
    parallel(batch_ * blocks, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) run_block(arguments, i / blocks, i % blocks * kPixels);
    });
  }

 private:
  void run_block(const KernelArguments& arguments, int64_t image, int64_t first) const {
    alignas(64) std::array<std::byte, kMost * kPixels> bytes;
    const int64_t count = std::min(kPixels, pixels_ - first);
    for (int64_t plane = 0; plane < planes_; ++plane) {
      const auto* from =
          static_cast<const float*>(arguments.inputs[0]) + (image * planes_ + plane) * pixels_ + first;
      quantise(from, count, bytes.data() + plane * kPixels);
    }
    transpose_tiles(1, bytes.data(), kPixels,
                    static_cast<std::byte*>(arguments.outputs[0]) + (image * pixels_ + first) * planes_,
                    planes_, planes_, count);
  }

  // Loops read whole blocks, which may end beyond the tensor.
  void quantise(const float* from, int64_t count, std::byte* to) const {
    const int64_t whole = count / kLoopBlock * kLoopBlock;
    const auto run = [&](const float* x, int64_t n, std::byte* y) {
      loop_({y, x, nullptr, nullptr, n, affine_.scale, affine_.zero_point, nullptr});
    };
    if (whole > 0) run(from, whole, to);
    if (whole == count) return;
    std::array<float, kLoopBlock> rest{};
    std::copy_n(from + whole, count - whole, rest.data());
    run(rest.data(), count - whole, to + whole);
  }

  int64_t batch_, planes_, pixels_;
  Affine affine_;
  Loop loop_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  reason = "no picture that becomes pixels";
  if (!quantises_picture(request) || request.out().layout != Layout::kChannelsLast) return nullptr;
  return std::make_unique<ImageQuantisation>(request, *known_affine(request, 1, 2));
}

}  // namespace

bool quantises_picture(const KernelRequest& request) {
  if (request.node.op != "QuantizeLinear" || !request.node.domain.empty() ||
      request.node.attribute<int64_t>("precision", 0) != 0)
    return false;
  const Operand& x = request.in(0);
  return x.rank() == 4 && x.layout == Layout::kPlain && x.element == ElementType::kFloat &&
         x.constant == nullptr && x.dims[1] >= kFewest && x.dims[1] <= kMost &&
         request.images == Layout::kChannelsLast && is_byte(request.out().element) &&
         known_affine(request, 1, 2).has_value();
}

void register_image_quantisation(KernelRegistry& registry) {
  registry.add({"", "QuantizeLinear", LayoutRule::kFollow, make});
}

}  // namespace vernier::cpu
