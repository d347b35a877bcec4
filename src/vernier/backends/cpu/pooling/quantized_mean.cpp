// The mean of each channel of a quantized image: groups of DequantizeLinear, GlobalAveragePool or ReduceMean,
// and perhaps QuantizeLinear; QLinearGlobalAveragePool and QLinearReduceMean. The sums are of integers,
// exact.
#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantized/quantized_value.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/channels_last.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kMostElements = 1 << 23;  // whose sum is below 2^31
constexpr int64_t kChannelBlock = 64;       // sums that are kept at a time

struct Parameters {
  Affine x;
  std::optional<Affine> y;
  bool rounds = true;  // the mean to FLOAT, before it is quantized
};

class QuantizedMean : public Kernel {
 public:
  QuantizedMean(const Operand& x, const Operand& y, const Parameters& parameters)
      : parameters_(parameters),
        images_(x.dims[0]),
        channels_(x.dims[1]),
        area_(ops::product(x.dims, 2, x.dims.size())),
        last_(x.layout == Layout::kChannelsLast),
        signed_(x.element == ElementType::kInt8),
        quantize_(parameters.y.value_or(Affine{}), y.element) {
    name = "cpu:quantized_mean";
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
      sum_int8_rows(image + begin, area_, channels_, end - begin, signed_, sums);
    } else {
      for (int64_t c = begin; c < end; ++c) sums[c - begin] = sum_bytes(image + c * area_, area_, signed_);
    }
    const Affine& x = parameters_.x;
    const auto count = static_cast<double>(area_);
    for (int64_t c = begin; c < end; ++c) {
      const double sum = sums[c - begin] - count * x.zero_point;
      store(sum * x.scale / count, offset + c, to);
    }
  }

  void store(double mean, int64_t at, void* to) const {
    const auto rounded = static_cast<float>(mean);
    if (parameters_.y)
      static_cast<uint8_t*>(to)[at] = quantize_(parameters_.rounds ? static_cast<double>(rounded) : mean);
    else
      static_cast<float*>(to)[at] = rounded;
  }

  Parameters parameters_;
  int64_t images_, channels_, area_;
  bool last_, signed_;
  Quantizer quantize_;
};

constexpr const char* kRefusal = "no mean of int8 with parameters that are not known, or in other layouts";

// x [N, C, spatial…].
std::unique_ptr<Kernel> make_mean(const Operand& x, const Operand& y, const Parameters& parameters,
                                  std::string& reason) {
  const int64_t area = x.rank() < 3 ? 0 : ops::product(x.dims, 2, x.dims.size());
  reason = kRefusal;
  if (!is_8bit(x.element) || area == 0 || area > kMostElements || x.layout == Layout::kBlocked16 ||
      y.size() != x.dims[0] * x.dims[1])
    return nullptr;
  return std::make_unique<QuantizedMean>(x, y, parameters);
}

std::unique_ptr<Kernel> make_group(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  const auto& members = ops::body(request.node).nodes();
  Parameters parameters;
  const auto first = member_affine(request, *members.front());
  if (members.back()->op == "QuantizeLinear") parameters.y = member_affine(request, *members.back());
  reason = kRefusal;
  if (!first || (!parameters.y && members.back()->op == "QuantizeLinear") || x.layout != y.layout)
    return nullptr;
  parameters.x = *first;
  return make_mean(x, y, parameters, reason);
}

// Whether the images lie [N, spatial…, C]; nothing for means over other axes.
std::optional<bool> is_channels_last(const Node& node, int64_t rank) {
  if (node.op == "QLinearGlobalAveragePool") return ops::integer_attribute(node, "channels_last") != 0;
  auto axes = ops::normalize_axes(node.attribute<std::vector<int64_t>>("axes", {}), rank);
  std::sort(axes.begin(), axes.end());
  const auto all_from = [&](int64_t first) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != first + static_cast<int64_t>(i)) return false;
    }
    return static_cast<int64_t>(axes.size()) == rank - 2;
  };
  if (all_from(2)) return false;
  return all_from(1) ? std::optional(true) : std::nullopt;
}

std::unique_ptr<Kernel> make_operator(const KernelRequest& request, std::string& reason) {
  Operand x = request.in(0);
  const auto from = known_affine(request, 1, 2), to = known_affine(request, 3, 4);
  const auto last = x.rank() < 3 ? std::nullopt : is_channels_last(request.node, x.rank());
  reason = kRefusal;
  if (!from || !to || !last || (*last && x.layout != Layout::kPlain) || !is_8bit(x.element) ||
      x.element != request.out().element)
    return nullptr;
  if (*last) {
    x.dims = ops::channels_first(x.dims);
    x.layout = Layout::kChannelsLast;
  }
  return make_mean(x, request.out(), {*from, *to, false}, reason);
}

}  // namespace

void register_quantized_mean(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qmean", LayoutRule::kFollow, Priority::kOwn, make_group});
  for (const char* op : {"QLinearGlobalAveragePool", "QLinearReduceMean"})
    registry.add({"com.microsoft", op, LayoutRule::kFollow, Priority::kOwn, make_operator});
}

}  // namespace vernier::cpu
