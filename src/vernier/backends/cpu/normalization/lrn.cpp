// LRN of floats: x / (bias + alpha / size * sum of squares of neighbouring channels)^beta.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

// Pixels worked on at a time: their sums stay in the first cache.
constexpr int64_t kBlock = 256;

class Lrn : public Kernel {
 public:
  explicit Lrn(const KernelRequest& request)
      : batch_(request.in(0).dims[0]),
        channels_(request.in(0).dims[1]),
        plane_(ops::product(request.in(0).dims, 2, request.in(0).dims.size())),
        size_(ops::integer_attribute(request.node, "size")) {
    const Node& node = request.node;
    name = "cpu:lrn";
    contract = float_contract(ElementType::kFloat);
    alpha_ = ops::real_attribute(node, "alpha") / static_cast<float>(size_);
    beta_ = ops::real_attribute(node, "beta");
    bias_ = ops::real_attribute(node, "bias");
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const int64_t blocks = (plane_ + kBlock - 1) / kBlock;
    parallel(batch_ * channels_ * blocks, 8, [&](int64_t begin, int64_t end) {
      alignas(64) std::array<float, kBlock> sums;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t block = task % blocks, row = task / blocks, channel = row % channels_;
        const int64_t first = block * kBlock, count = std::min(kBlock, plane_ - first);
        // An even size reaches one channel farther up than down.
        const int64_t low = std::max<int64_t>(0, channel - (size_ - 1) / 2),
                      high = std::min(channels_ - 1, channel + size_ / 2);
        const float* image = x + (row - channel) * plane_ + first;
        std::fill_n(sums.begin(), count, 0.0F);
        for (int64_t other = low; other <= high; ++other)
          add_squares(image + other * plane_, count, sums.data());
        divide(image + channel * plane_, sums.data(), count, y + row * plane_ + first);
      }
    });
  }

 private:
  static void add_squares(const float* x, int64_t count, float* sums) {
    for (int64_t i = 0; i < count; ++i) sums[i] += x[i] * x[i];
  }

  void divide(const float* x, const float* sums, int64_t count, float* y) const {
    const float alpha = alpha_, bias = bias_;
    if (beta_ == 0.75F) {  // what all networks use, as roots
      for (int64_t i = 0; i < count; ++i) {
        const float root = std::sqrt(bias + alpha * sums[i]);
        y[i] = x[i] / (root * std::sqrt(root));
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] / std::pow(bias + alpha * sums[i], beta_);
  }

  int64_t batch_, channels_, plane_, size_;
  float alpha_, beta_, bias_;
};

std::unique_ptr<Kernel> make_lrn(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  if (x.element == ElementType::kFloat && x.rank() >= 2 && ops::integer_attribute(request.node, "size") > 0)
    return std::make_unique<Lrn>(request);
  reason = fmt::format("no LRN of {} {}", element_type_short_name(x.element), dims_text(x.dims));
  return nullptr;
}

}  // namespace

void register_lrn(KernelRegistry& registry) {
  registry.add({"", "LRN", LayoutRule::kPlain, Priority::kOwn, make_lrn});
}

}  // namespace vernier::cpu
