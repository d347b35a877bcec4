// Normalisation of rows of int8: groups of DequantizeLinear, LayerNormalization or RMSNormalization, and
// QuantizeLinear. It rounds where these do, and no row of floats leaves the first cache.
#include <array>
#include <cstring>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/normalization/row_statistics.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kMostLength = 4096;  // of a row: it is worked on in a first cache
static_assert(kMostLength % kLoopBlock == 0);

struct Parameters {
  Affine x, y;
  int64_t length = 0;
  int scale = -1, bias = -1;  // inputs; -1: none
  bool centred = true;
  float epsilon = 0;
};

class QuantizedNormalization : public Kernel {
 public:
  QuantizedNormalization(const Operand& x, const Operand& y, const Parameters& parameters)
      : parameters_(parameters),
        rows_(x.size() / parameters.length),
        dequantize_(dequantize_loop(x.element)),
        quantize_(quantize_loop(y.element)) {
    name = parameters.centred ? "cpu:layer_norm:int8" : "cpu:rms_norm:int8";
    contract = {ElementType::kFloat, ElementType::kFloat, y.element, NumericsContract::Order::kBlocked};
    in_place = 0;
  }

  bool reads(size_t input) const override {
    const auto at = static_cast<int>(input);
    return at == 0 || at == parameters_.scale || at == parameters_.bias;
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t length = parameters_.length;
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[0]);
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]);
    constexpr int64_t kGrain = 1 << 13;
    parallel(rows_, std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        normalise(arguments, from + row * length, to + row * length);
    });
  }

 private:
  // Loops go on to the end of a block, so that the row's bytes are copied.
  void normalise(const KernelArguments& arguments, const uint8_t* from, uint8_t* to) const {
    alignas(64) std::array<uint8_t, kMostLength> bytes;
    alignas(64) std::array<float, kMostLength> x;
    const auto& [in, out, length, scale, bias, centred, epsilon] = parameters_;
    const auto vector = [&](int input) {
      return input < 0 ? nullptr : static_cast<const float*>(arguments.inputs[input]);
    };
    std::memcpy(bytes.data(), from, static_cast<size_t>(length));
    dequantize_({x.data(), bytes.data(), nullptr, nullptr, length, in.scale, in.zero_point, nullptr});
    const RowStatistics statistics = row_statistics(x.data(), length, centred, epsilon);
    normalise_row(x.data(), length, statistics.mean, statistics.inverse_deviation, vector(scale),
                  vector(bias), x.data());
    quantize_({bytes.data(), x.data(), nullptr, nullptr, length, out.scale, out.zero_point, nullptr});
    std::memcpy(to, bytes.data(), static_cast<size_t>(length));
  }

  Parameters parameters_;
  int64_t rows_;
  Loop dequantize_, quantize_;
};

std::unique_ptr<Kernel> make_quantized_normalization(const KernelRequest& request, std::string& reason) {
  const Graph& body = ops::body(request.node);
  const auto& members = body.nodes();
  const Node& norm = *members[1];
  const Operand &x = request.in(0), &y = request.out();
  const auto from = member_affine(request, *members.front()), to = member_affine(request, *members.back());
  const int64_t axis = ops::normalize_axis(ops::integer_attribute(norm, "axis"), x.rank());
  const Dims row(x.dims.begin() + axis, x.dims.end());
  reason = "no normalisation of such rows of int8, or by parameters that are not known";
  if (!from || !to || !is_8bit(x.element) || !is_8bit(y.element) || x.size() == 0 ||
      element_count(row) > kMostLength)
    return nullptr;
  Parameters parameters{*from, *to, element_count(row)};
  parameters.centred = norm.op == "LayerNormalization";
  parameters.epsilon = ops::real_attribute(norm, "epsilon");
  for (const size_t at : {1, 2}) {
    if (norm.input(at) == nullptr) continue;
    const auto found = std::find(body.inputs.begin(), body.inputs.end(), norm.input(at));
    if (found == body.inputs.end()) return nullptr;
    const auto input = static_cast<size_t>(found - body.inputs.begin());
    Dims dims = request.in(input).dims;
    while (dims.size() > row.size() && dims.front() == 1) dims.erase(dims.begin());
    if (request.in(input).element != ElementType::kFloat || dims != row) return nullptr;
    (at == 1 ? parameters.scale : parameters.bias) = static_cast<int>(input);
  }
  return std::make_unique<QuantizedNormalization>(x, y, parameters);
}

}  // namespace

void register_quantized_normalization(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qnorm", LayoutRule::kPlain, Priority::kOwn, make_quantized_normalization});
}

}  // namespace vernier::cpu
