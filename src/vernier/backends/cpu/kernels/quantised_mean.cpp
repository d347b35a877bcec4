// The mean of each channel of a quantised image: groups of DequantizeLinear, GlobalAveragePool or ReduceMean,
// and perhaps QuantizeLinear. The sums are of integers, exact.
#include <cstring>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/byte_row_sums.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantised.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/quantization.h"
#include "vernier/ops/support/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kMostElements = 1 << 23;  // whose sum is below 2^31
constexpr int64_t kChannelBlock = 64;       // sums that are kept at a time

struct Parameters {
  Affine x;
  std::optional<Affine> y;
};

std::optional<Affine> known_affine(const KernelRequest& request, const Node& node) {
  const Graph& body = ops::body(request.node);
  const auto element = [&](const Value* value) -> std::optional<double> {
    const auto at = std::find(body.inputs.begin(), body.inputs.end(), value) - body.inputs.begin();
    const auto& operand = request.inputs.at(static_cast<size_t>(at));
    if (!operand || operand->constant == nullptr || operand->size() != 1) return std::nullopt;
    return operand->constant->to_doubles()[0];
  };
  const auto scale = element(node.input(1));
  const auto zero = node.input(2) == nullptr ? 0.0 : element(node.input(2));
  if (!scale || !zero) return std::nullopt;
  return Affine{*scale, *zero};
}

class QuantisedMean : public Kernel {
 public:
  QuantisedMean(const Operand& x, const Operand& y, const Parameters& parameters)
      : parameters_(parameters),
        images_(x.dims[0]),
        channels_(x.dims[1]),
        area_(ops::product(x.dims, 2, x.dims.size())),
        last_(x.layout == Layout::kChannelsLast),
        signed_(x.element == ElementType::kInt8),
        range_(is_byte(y.element) ? ops::value_range(y.element) : ops::ValueRange{}) {
    name = "cpu:quantised_mean";
    contract = {ElementType::kDouble, ElementType::kInt32, y.element, NumericsContract::Order::kBlocked};
  }

  void run(const KernelArguments& arguments) const override {
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[0]);
    const int64_t blocks = (channels_ + kChannelBlock - 1) / kChannelBlock;
    constexpr int64_t kGrain = 1 << 16;
    parallel(images_ * blocks, std::max<int64_t>(1, kGrain / (area_ * kChannelBlock + 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t first = i % blocks * kChannelBlock;
                 mean(from + i / blocks * channels_ * area_, first,
                      std::min(channels_, first + kChannelBlock), i / blocks * channels_,
                      arguments.outputs[0]);
               }
             });
  }

 private:
  void mean(const uint8_t* image, int64_t begin, int64_t end, int64_t offset, void* to) const {
    int32_t sums[kChannelBlock];
    if (last_) {
      sum_byte_rows(image + begin, area_, channels_, end - begin, signed_, sums);
    } else {
      for (int64_t c = begin; c < end; ++c) sums[c - begin] = sum_bytes(image + c * area_, area_, signed_);
    }
    const Affine& x = parameters_.x;
    const auto count = static_cast<double>(area_);
    for (int64_t c = begin; c < end; ++c) {
      const double sum = sums[c - begin] - count * x.zero_point;
      store(static_cast<float>(sum * x.scale / count), offset + c, to);
    }
  }

  void store(float value, int64_t at, void* to) const {
    if (!parameters_.y) {
      static_cast<float*>(to)[at] = value;
      return;
    }
    const auto steps = static_cast<double>(value / static_cast<float>(parameters_.y->scale));
    const double code = ops::saturate(std::nearbyint(steps) + parameters_.y->zero_point, range_);
    static_cast<uint8_t*>(to)[at] = static_cast<uint8_t>(static_cast<int32_t>(code));
  }

  Parameters parameters_;
  int64_t images_, channels_, area_;
  bool last_, signed_;
  ops::ValueRange range_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto& members = ops::body(request.node).nodes();
  Parameters parameters;
  const auto first = known_affine(request, *members.front());
  if (members.back()->op == "QuantizeLinear") parameters.y = known_affine(request, *members.back());
  const bool known = first && (parameters.y || members.back()->op != "QuantizeLinear");
  const int64_t area = x.rank() < 3 ? 0 : ops::product(x.dims, 2, x.dims.size());
  if (!known || !is_byte(x.element) || x.rank() < 3 || y.rank() != x.rank() || area == 0 ||
      area > kMostElements || x.layout == Layout::kBlocked16 || x.layout != y.layout ||
      y.size() != x.dims[0] * x.dims[1]) {
    reason = "no mean of bytes with parameters that are not known, or in other layouts";
    return nullptr;
  }
  parameters.x = *first;
  return std::make_unique<QuantisedMean>(x, y, parameters);
}

}  // namespace

void register_quantised_mean(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qmean", LayoutRule::kFollow, make});
}

}  // namespace vernier::cpu
