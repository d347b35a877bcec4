// DynamicQuantizeLinear.
#include "vernier/backends/cpu/quantized/dynamic_quantization.h"

#include <array>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/ops/support/quant/dynamic_quantization.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements worth a thread
constexpr int64_t kMaxParts = 64;

}  // namespace

Affine dynamic_affine(const float* x, int64_t count) {
  std::array<std::array<float, 2>, kMaxParts> ranges{};
  const int64_t parts = std::clamp<int64_t>(count / kGrain, 1, kMaxParts);
  parallel(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      auto& range = ranges[static_cast<size_t>(part)];
      const int64_t from = count * part / parts, to = count * (part + 1) / parts;
      extend_range(x + from, to - from, range[0], range[1]);
    }
  });
  std::array<double, 2> range{};
  for (const auto& part : ranges)
    range = {std::min<double>(range[0], part[0]), std::max<double>(range[1], part[1])};
  const ops::Affine affine = ops::dynamic_affine(range, false);
  return {affine.scale, affine.zero_point};
}

void quantize_int8(const float* x, int64_t count, const Affine& affine, uint8_t* to) {
  static const Loop loop = quantize_loop(ElementType::kUint8);
  const auto quantize = [&](const float* from, int64_t elements, uint8_t* codes) {
    loop({codes, from, nullptr, nullptr, elements, affine.scale, affine.zero_point, nullptr});
  };
  const int64_t blocks = count / kLoopBlock, whole = blocks * kLoopBlock;
  parallel(blocks, kGrain / kLoopBlock, [&](int64_t begin, int64_t end) {
    quantize(x + begin * kLoopBlock, (end - begin) * kLoopBlock, to + begin * kLoopBlock);
  });
  if (whole == count) return;
  float last[kLoopBlock] = {};
  uint8_t codes[kLoopBlock];
  std::copy(x + whole, x + count, last);
  quantize(last, count - whole, codes);
  std::copy(codes, codes + (count - whole), to + whole);
}

namespace {

class DynamicQuantize : public Kernel {
 public:
  explicit DynamicQuantize(int64_t count) : count_(count) {
    name = "cpu:dynamic_quantize";
    contract = {ElementType::kFloat, ElementType::kUndefined, ElementType::kUint8};
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const Affine affine = dynamic_affine(x, count_);
    if (arguments.outputs[0] != nullptr)
      quantize_int8(x, count_, affine, static_cast<uint8_t*>(arguments.outputs[0]));
    if (arguments.outputs[1] != nullptr)
      *static_cast<float*>(arguments.outputs[1]) = static_cast<float>(affine.scale);
    if (arguments.outputs[2] != nullptr)
      *static_cast<uint8_t*>(arguments.outputs[2]) = static_cast<uint8_t>(affine.zero_point);
  }

 private:
  int64_t count_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  if (request.in(0).element == ElementType::kFloat && request.outputs.size() == 3 && request.wants(0) &&
      request.out().layout == request.in(0).layout && request.in(0).layout != Layout::kBlocked16)
    return std::make_unique<DynamicQuantize>(request.in(0).size());
  reason = "it quantizes floats, and gives scale and zero point";
  return nullptr;
}

}  // namespace

void register_dynamic_quantization(KernelRegistry& registry) {
  registry.add({"", "DynamicQuantizeLinear", LayoutRule::kFollow, Priority::kOwn, make});
}

}  // namespace vernier::cpu
