#include "vernier/backends/cpu/onednn/requantization.h"

#include <cstring>

#include "vernier/backends/cpu/onednn/post_ops.h"

namespace vernier::cpu {

namespace {

using dnnl::algorithm;
using Kind = QuantizedStage::Kind;

// Builds post-ops on a value that counts in units: real = value * unit.
//
// The fastest convolutions of oneDNN have neither a zero point of the result nor binary post-ops of whole
// tensors: an addition at the end, and a sum, do the same.
class Chain {
 public:
  Chain(const KernelRequest& request, const QuantizedProduct& product, size_t axis, double unit)
      : request_(request),
        product_(product),
        axis_(axis),
        unit_(unit),
        post_ops_(request.out().dims.size()) {}

  // False if oneDNN cannot do it.
  bool append(const QuantizedStage& stage) {
    switch (stage.kind) {
      case Kind::kRelu: return post_ops_.eltwise(algorithm::eltwise_relu, stage.alpha, 0);
      case Kind::kClip:
        return post_ops_.eltwise(algorithm::eltwise_clip, stage.alpha / unit_, stage.beta / unit_);
      case Kind::kAddTensor: add_tensor(stage); return true;
      case Kind::kAddVector: add_vector(stage.vector); return true;
      case Kind::kRequantize: requantize(stage); return true;
    }
    return false;
  }

  void in_units_of(double unit) {
    linear(unit_ / unit, 0);
    unit_ = unit;
  }

  // Rounds half to even before the zero point is added: an odd one would decide ties otherwise.
  void add_zero_point(double zero_point) {
    if (zero_point == 0) return;
    post_ops_.eltwise(algorithm::eltwise_round, 0, 0);
    linear(1, zero_point);
  }

  // Scales accumulators with their bias, by one scale for all or one for each channel, before all else: the
  // scales of oneDNN 3.x would leave the bias out.
  void scale(const std::vector<float>& scales) {
#if DNNL_VERSION_MAJOR >= 3
    by_channel(algorithm::binary_mul, scales);
#else
    result_.attributes.set_output_scales(scales.size() == 1 ? 0 : 1 << axis_, scales);
#endif
  }

  Epilogue finish() {
    result_.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    result_.attributes.set_post_ops(post_ops_.post_ops());
    result_.arguments = post_ops_.take_arguments();
    return std::move(result_);
  }

 private:
  void linear(double alpha, double beta) {
    if (alpha != 1 || beta != 0) post_ops_.eltwise(algorithm::eltwise_linear, alpha, beta);
  }

  void add_tensor(const QuantizedStage& stage) {
    const auto& [scale, zero_point] = stage.affine;
    const Operand& operand = request_.in(stage.operand);
    // A value with other readers must not be overwritten.
    const auto readings = std::count_if(
        product_.stages.begin(), product_.stages.end(),
        [&](const auto& each) { return each.kind == Kind::kAddTensor && each.operand == stage.operand; });
    const bool is_read = stage.operand == product_.a || stage.operand == product_.b || readings > 1;
    const int input = static_cast<int>(stage.operand);
    if (result_.sum_input < 0 && !is_read && is_8bit(request_.out().element)) {
      result_.sum_input = input;
      post_ops_.sum(scale / unit_, static_cast<int32_t>(zero_point), *dnnl_type(operand.element));
      return;
    }
    // In units of the operand, so that its integers are added as they are.
    linear(unit_ / scale, -zero_point);
    unit_ = scale;
    post_ops_.binary(algorithm::binary_add, {0, describe(operand), input, -1, std::nullopt});
  }

  void add_vector(const std::vector<double>& vector) {
    std::vector<float> values;
    values.reserve(vector.size());
    for (const double value : vector) values.push_back(static_cast<float>(value / unit_));
    by_channel(algorithm::binary_add, values);
  }

  void by_channel(algorithm algorithm, const std::vector<float>& values) {
    Dims dims(request_.out().dims.size(), 1);
    dims[axis_] = static_cast<int64_t>(values.size());
    const auto descriptor = plain(dnnl::memory::data_type::f32, dims);
    post_ops_.binary(algorithm, {0, descriptor, -1, -1, own_floats(values, descriptor)});
  }

  void requantize(const QuantizedStage& stage) {
    in_units_of(stage.affine.scale);
    const double low = stage.type == ElementType::kInt8 ? -128 : 0, high = low + 255;
    post_ops_.eltwise(algorithm::eltwise_clip, low - stage.affine.zero_point, high - stage.affine.zero_point);
    post_ops_.eltwise(algorithm::eltwise_round, 0, 0);
  }

  const KernelRequest& request_;
  const QuantizedProduct& product_;
  size_t axis_;
  double unit_;
  PostOpChain post_ops_;
  Epilogue result_;
};

// The unit in which most of what follows the sums counts.
double first_unit(const QuantizedProduct& product) {
  for (const QuantizedStage& stage : product.stages) {
    if (stage.kind == Kind::kRequantize) return stage.affine.scale;
  }
  return product.result ? product.result->scale : 1;
}

}  // namespace

std::optional<Epilogue> make_requantization(const QuantizedProduct& product, const KernelRequest& request,
                                            size_t axis, std::string& reason) {
  const double unit = first_unit(product);
  std::vector<float> scales;
  for (const double scale : product.b_scales)
    scales.push_back(static_cast<float>(product.a_affine.scale * scale / unit));
  Chain chain(request, product, axis, unit);
  chain.scale(scales);
  for (const QuantizedStage& stage : product.stages) {
    if (chain.append(stage)) continue;
    reason = "oneDNN has no two rectifiers of different slopes in one epilogue";
    return std::nullopt;
  }
  chain.in_units_of(product.result ? product.result->scale : 1);
  if (product.result) chain.add_zero_point(product.result->zero_point);
  return chain.finish();
}

void set_zero_point(Epilogue& epilogue, int argument, double zero_point) {
  if (zero_point == 0) return;
  const auto value = static_cast<int32_t>(zero_point);
#if DNNL_VERSION_MAJOR >= 3
  const auto one = plain(dnnl::memory::data_type::s32, {1});
  dnnl::memory memory(one, dnnl_engine());
  std::memcpy(memory.get_data_handle(), &value, sizeof value);
  set_given_zero_point(epilogue.attributes, argument);
  epilogue.arguments.push_back(
      {DNNL_ARG_ATTR_ZERO_POINTS | argument, one, -1, -1, PackedMemory{memory, nullptr}});
#else
  epilogue.attributes.set_zero_points(argument, 0, {value});
#endif
}

void set_given_zero_point(dnnl::primitive_attr& attributes, int argument) {
#if DNNL_VERSION_MAJOR >= 3
  attributes.set_zero_points_mask(argument, 0);
#else
  attributes.set_zero_points(argument, 0, {DNNL_RUNTIME_S32_VAL});
#endif
}

std::optional<SignedWeights> signed_weights(const Tensor& weights, const std::vector<double>& zero_points) {
  const double zero = zero_points.empty() ? 0 : zero_points.front();
  if (!std::all_of(zero_points.begin(), zero_points.end(), [&](double each) { return each == zero; }))
    return std::nullopt;
  if (weights.type() == ElementType::kInt8) return SignedWeights{weights, zero};
  Tensor shifted(ElementType::kInt8, weights.dims());
  const auto* from = static_cast<const uint8_t*>(weights.raw());
  auto* to = static_cast<uint8_t*>(shifted.mutable_raw());
  for (int64_t i = 0; i < weights.size(); ++i) to[i] = from[i] ^ 0x80U;
  return SignedWeights{std::move(shifted), zero - kSignedShift};
}

std::optional<std::vector<float>> bias_of_sums(const QuantizedProduct& product, double a_zero_point,
                                               const std::vector<double>& weight_sums) {
  constexpr double kExact = 1 << 24;  // integers up to this are exact in FLOAT
  std::vector<float> result;
  for (size_t c = 0; c < weight_sums.size(); ++c) {
    const double unit = product.a_affine.scale * product.b_scales[product.b_scales.size() == 1 ? 0 : c];
    const double moved = a_zero_point * weight_sums[c];
    const double bias = product.bias.empty() ? 0 : product.bias[c] / unit;
    if (std::abs(moved) > kExact || std::abs(bias - moved) > kExact) {
      if (moved != 0) return std::nullopt;
    }
    // A bias of whole units is meant to be one: its scale is a product that was rounded to FLOAT.
    const double whole = std::nearbyint(bias);
    const bool is_whole = std::abs(bias - whole) <= 1e-6 * std::abs(whole);
    result.push_back(static_cast<float>((is_whole ? whole : bias) - moved));
  }
  return result;
}

}  // namespace vernier::cpu
