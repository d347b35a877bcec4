// QLinearSoftmax: the exponential of how far an element lies below the largest is one of 256.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantized/quantized_value.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

class QuantizedSoftmax : public Kernel {
 public:
  QuantizedSoftmax(const ops::AxisRows& rows, ElementType type, double scale, const Quantizer& quantize)
      : rows_(rows), type_(type), quantize_(quantize) {
    name = "cpu:quantized_softmax";
    contract = {ElementType::kDouble, ElementType::kDouble, type, NumericsContract::Order::kSequential};
    for (size_t i = 0; i < exponentials_.size(); ++i)
      exponentials_[i] = std::exp(-scale * static_cast<double>(i));
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const uint8_t*>(arguments.inputs[kX]);
    auto* y = static_cast<uint8_t*>(arguments.outputs[0]);
    constexpr int64_t kGrain = 1 << 12;
    parallel(rows_.count(), std::max<int64_t>(1, kGrain / (rows_.length + 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row)
                 softmax(x + rows_.start(row), y + rows_.start(row));
             });
  }

 private:
  void softmax(const uint8_t* x, uint8_t* y) const {
    const int64_t step = rows_.inner, end = rows_.length * step;
    int32_t top = std::numeric_limits<int32_t>::min();
    for (int64_t i = 0; i < end; i += step) top = std::max(top, integer_of(x[i], type_));
    const auto exponential = [&](int64_t i) {
      return exponentials_[static_cast<size_t>(top - integer_of(x[i], type_))];
    };
    double sum = 0;
    for (int64_t i = 0; i < end; i += step) sum += exponential(i);
    for (int64_t i = 0; i < end; i += step) y[i] = quantize_(exponential(i) / sum);
  }

  ops::AxisRows rows_;
  ElementType type_;
  Quantizer quantize_;
  std::array<double, 256> exponentials_;
};

std::unique_ptr<Kernel> make_quantized_softmax(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(kX), &y = request.out();
  const auto from = known_affine(request, kXScale, kXZeroPoint),
             to = known_affine(request, kYScale, kYZeroPoint);
  reason = "softmax of int8 with known parameters and a scale above 0";
  if (!from || !to || !(from->scale > 0) || !is_8bit(x.element) || x.element != y.element || x.rank() == 0)
    return nullptr;
  const bool flattens = ops::softmax_flattens(request.node);
  const int64_t axis = ops::normalize_axis(ops::softmax_axis(request.node), x.rank());
  const auto split = static_cast<size_t>(axis);
  const Dims dims =
      flattens ? Dims{ops::product(x.dims, 0, split), ops::product(x.dims, split, x.dims.size())} : x.dims;
  return std::make_unique<QuantizedSoftmax>(ops::AxisRows(dims, flattens ? 1 : axis), x.element, from->scale,
                                            Quantizer(*to, y.element));
}

}  // namespace

void register_quantized_softmax(KernelRegistry& registry) {
  registry.add(
      {"com.microsoft", "QLinearSoftmax", LayoutRule::kPlain, Priority::kOwn, make_quantized_softmax});
}

}  // namespace vernier::cpu
