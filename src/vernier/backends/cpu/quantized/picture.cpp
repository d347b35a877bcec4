// QuantizeLinear, and Cast to bfloat16, of pictures: planes of floats become channels-last pixels in one
// pass.
#include "vernier/backends/cpu/quantized/picture.h"

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kFewest = 2, kMost = 4;  // planes: what is one is in place, and many are images of features
constexpr int64_t kPixels = 1024;          // at a time, which stay in the first cache
constexpr int64_t kMostBytes = 2;          // of an element of the result

// A loop over elements, and its attributes.
struct Conversion {
  Loop loop;
  double alpha = 0, beta = 0;
};

// Nothing for other operators than those.
std::optional<Conversion> conversion_of(const KernelRequest& request) {
  const Node& node = request.node;
  const ElementType to = request.out().element;
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Cast" && to == ElementType::kBFloat16)
    return Conversion{cast_loop(ElementType::kFloat, to)};
  if (node.op != "QuantizeLinear" || !is_8bit(to) || ops::integer_attribute(node, "precision") != 0)
    return std::nullopt;
  const auto affine = known_affine(request, 1, 2);
  if (!affine) return std::nullopt;
  return Conversion{quantize_loop(to), affine->scale, affine->zero_point};
}

class Picture : public Kernel {
 public:
  Picture(const KernelRequest& request, const Conversion& conversion)
      : batch_(request.in(0).dims[0]),
        planes_(request.in(0).dims[1]),
        pixels_(request.in(0).dims[2] * request.in(0).dims[3]),
        unit_(element_size(request.out().element)),
        conversion_(conversion) {
    name = "cpu:picture";
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
    const auto unit = static_cast<int64_t>(unit_);
    alignas(64) std::array<std::byte, kMost * kPixels * kMostBytes> converted;
    const int64_t count = std::min(kPixels, pixels_ - first);
    for (int64_t plane = 0; plane < planes_; ++plane) {
      const auto* from =
          static_cast<const float*>(arguments.inputs[0]) + (image * planes_ + plane) * pixels_ + first;
      convert(from, count, converted.data() + plane * kPixels * unit);
    }
    auto* to = static_cast<std::byte*>(arguments.outputs[0]) + (image * pixels_ + first) * planes_ * unit;
    transpose_tiles(unit_, converted.data(), kPixels * unit, to, planes_ * unit, planes_, count);
  }

  // Loops read whole blocks, which may end beyond the tensor.
  void convert(const float* from, int64_t count, std::byte* to) const {
    const int64_t whole = count / kLoopBlock * kLoopBlock;
    const auto run = [&](const float* x, int64_t n, std::byte* y) {
      conversion_.loop({y, x, nullptr, nullptr, n, conversion_.alpha, conversion_.beta, nullptr});
    };
    if (whole > 0) run(from, whole, to);
    if (whole == count) return;
    std::array<float, kLoopBlock> rest{};
    std::copy_n(from + whole, count - whole, rest.data());
    run(rest.data(), count - whole, to + whole * static_cast<int64_t>(unit_));
  }

  int64_t batch_, planes_, pixels_;
  size_t unit_;  // bytes of an element of the result
  Conversion conversion_;
};

std::unique_ptr<Kernel> make_picture(const KernelRequest& request, std::string& reason) {
  reason = "no picture that becomes pixels";
  if (!becomes_pixels(request) || request.out().layout != Layout::kChannelsLast) return nullptr;
  return std::make_unique<Picture>(request, *conversion_of(request));
}

}  // namespace

bool becomes_pixels(const KernelRequest& request) {
  if (!request.has(0) || request.images != Layout::kChannelsLast) return false;
  const Operand& x = request.in(0);
  return x.rank() == 4 && x.layout == Layout::kPlain && x.element == ElementType::kFloat &&
         x.constant == nullptr && x.dims[1] >= kFewest && x.dims[1] <= kMost && conversion_of(request);
}

void register_picture(KernelRegistry& registry) {
  registry.add({"", "QuantizeLinear", LayoutRule::kFollow, Priority::kNarrow, make_picture});
  registry.add({"", "Cast", LayoutRule::kFollow, Priority::kNarrow, make_picture});
}

}  // namespace vernier::cpu
