#include "vernier/ops/support/quant/quantization.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

ValueRange value_range(ElementType type) {
  if (is_integer(type))
    return {static_cast<double>(integer_min(type)), static_cast<double>(integer_max(type))};
  double high = std::numeric_limits<double>::max();
  visit_element_type(type, [&]<class T>(TypeTag<T>) {
    if constexpr (requires { T::kLargest; }) high = static_cast<double>(T::from_bits(T::kLargest));
    if constexpr (std::is_same_v<T, float>) high = std::numeric_limits<float>::max();
  });
  return {-high, high};
}

ElementType division_type(const Node& node, ElementType scale) {
  const auto precision = static_cast<ElementType>(integer_attribute(node, "precision"));
  const ElementType type = precision == ElementType::kUndefined ? scale : precision;
  switch (type) {
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
    case ElementType::kDouble: return type;
    default: return ElementType::kFloat;
  }
}

namespace {

Granularity blocked(const Dims& tensor, const Dims& scale, size_t axis, int64_t block_size) {
  Granularity grain;
  if (scale.size() != tensor.size())
    throw bad_input("blocked scales {} differ in rank from the tensor {}", dims_text(scale),
                    dims_text(tensor));
  for (size_t i = 0; i < tensor.size(); ++i) {
    const int64_t wanted = i == axis ? (tensor[i] + block_size - 1) / block_size : tensor[i];
    if (scale[i] != wanted)
      throw bad_input("scales {} do not fit {} in blocks of {}", dims_text(scale), dims_text(tensor),
                      block_size);
  }
  grain.block = block_size;
  grain.inner_stride = 1;
  grain.block_stride = product(tensor, axis + 1, tensor.size());
  grain.outer_stride = grain.block_stride * scale[axis];
  return grain;
}

}  // namespace

Granularity granularity_of(const Dims& tensor, const Dims& scale, int64_t axis, int64_t block_size) {
  constexpr int64_t kLargestBlock = int64_t{1} << 40;
  if (block_size < 0 || block_size > kLargestBlock) throw bad_input("the block size is {}", block_size);
  Granularity grain;
  if (block_size == 0 && element_count(scale) == 1) {
    grain.inners = element_count(tensor);
    return grain;
  }
  const auto along = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(tensor.size())));
  if (block_size > 0) {
    grain = blocked(tensor, scale, along, block_size);
  } else {
    if (scale.size() != 1 || scale[0] != tensor[along]) {
      throw bad_input("scales {} do not fit axis {} of {}", dims_text(scale), along, dims_text(tensor));
    }
    grain.block_stride = 1;
  }
  grain.outers = product(tensor, 0, along);
  grain.length = std::max<int64_t>(1, tensor[along]);
  grain.inners = tensor[along] == 0 ? 0 : product(tensor, along + 1, tensor.size());
  return grain;
}

void require_granularity(const InferContext& context) {
  const auto scale = known_dims(context, 1), zero_point = known_dims(context, 2);
  if (const auto tensor = known_dims(context, 0); tensor && scale) {
    granularity_of(*tensor, *scale, integer_attribute(context.node(), "axis"),
                   integer_attribute(context.node(), "block_size"));
  }
  if (scale && zero_point && element_count(*scale) != element_count(*zero_point))
    throw bad_input("scale {} and zero point {} differ in size", dims_text(*scale), dims_text(*zero_point));
}

Affine affine_of(const ReferenceContext& context, size_t scale, size_t zero_point) {
  return {context.real(scale, 1), context.real(zero_point, 0)};
}

std::vector<double> dequantize(const ReferenceContext& context, size_t input, Affine affine) {
  const auto quantized = context.reals(input);
  std::vector<double> values(static_cast<size_t>(quantized.size()));
  parallel_for(quantized.size(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[static_cast<size_t>(i)] = (quantized[i] - affine.zero_point) * affine.scale;
  });
  return values;
}

namespace {

// values[i] = f(values[i], parameter) with the broadcast parameter of that element.
template <class F>
void combine(const ReferenceContext& context, size_t parameter, const Dims& parameter_dims, const Dims& dims,
             std::vector<double>& values, F f) {
  if (broadcast(dims, parameter_dims) != dims ||
      element_count(parameter_dims) != context.in(parameter).size()) {
    throw bad_input("quantization parameters {} do not fit a tensor {}", dims_text(context.dims(parameter)),
                    dims_text(dims));
  }
  const auto elements = context.reals(parameter);
  for_each_broadcast<1>(
      dims, {&parameter_dims},
      [&](int64_t begin, int64_t count, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
        for (int64_t i = 0; i < count; ++i) {
          double& value = values[static_cast<size_t>(begin + i)];
          value = f(value, elements[at[0] + i * step[0]]);
        }
      });
}

// Sizes of a parameter as they broadcast; one element fits everything.
Dims column_dims(const ReferenceContext& context, size_t parameter) {
  return context.in(parameter).size() == 1 ? Dims() : context.dims(parameter);
}

}  // namespace

std::vector<double> subtract_zero_point(const ReferenceContext& context, size_t input, size_t zero_point,
                                        const Dims& parameter_dims) {
  const auto quantized = context.reals(input);
  std::vector<double> values(quantized.span().begin(), quantized.span().end());
  if (context.has(zero_point)) {
    combine(context, zero_point, parameter_dims, context.dims(input), values,
            [](double q, double zero) { return q - zero; });
  }
  return values;
}

void multiply_scale(const ReferenceContext& context, size_t scale, const Dims& parameter_dims,
                    const Dims& dims, std::vector<double>& values) {
  combine(context, scale, parameter_dims, dims, values,
          [](double value, double factor) { return value * factor; });
}

Dims first_axis_dims(const ReferenceContext& context, size_t parameter, size_t input) {
  if (!context.has(parameter) || context.in(parameter).size() == 1) return {};
  Dims dims(context.dims(input).size(), 1);
  if (!dims.empty()) dims[0] = context.in(parameter).size();
  return dims;
}

std::vector<double> dequantize_columns(const ReferenceContext& context, size_t input, size_t scale,
                                       size_t zero_point) {
  auto values = subtract_zero_point(context, input, zero_point,
                                    context.has(zero_point) ? column_dims(context, zero_point) : Dims());
  multiply_scale(context, scale, column_dims(context, scale), context.dims(input), values);
  return values;
}

void store_quantized(ReferenceContext& context, size_t output, Dims dims, std::vector<double> values,
                     Affine affine) {
  const bool ideal = context.ideal(), rounds = is_integer(context.out_type(output));
  const ValueRange range = value_range(context.out_type(output));
  const auto quantized = [&](double value) {
    if (ideal) return value / affine.scale + affine.zero_point;
    const auto steps = static_cast<double>(static_cast<float>(value / affine.scale));
    return saturate((rounds ? std::nearbyint(steps) : steps) + affine.zero_point, range);
  };
  parallel_for(static_cast<int64_t>(values.size()), 1 << 14, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      values[i] = quantized(values[i]);
  });
  if (ideal)
    context.emit(output, Tensor::from_doubles(ElementType::kDouble, std::move(dims), values));
  else
    context.store(output, std::move(dims), values);
}

}  // namespace vernier::ops
