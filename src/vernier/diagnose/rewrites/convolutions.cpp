// ConvTranspose as Conv, and a Conv of groups as one for each.
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// [M, C / g, kernel...] of a Conv, from [C, M / g, kernel...] of a ConvTranspose: turned around in space.
Tensor turned_weights(const Tensor& weights, int64_t groups) {
  const Dims& dims = weights.dims();
  int64_t taps = 1;
  for (size_t i = 2; i < dims.size(); ++i) taps *= dims[i];
  const int64_t in = dims[0] / groups, out = dims[1];
  const auto values = weights.to_doubles();
  std::vector<double> turned(values.size());
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t m = 0; m < out; ++m) {
      for (int64_t c = 0; c < in; ++c) {
        for (int64_t t = 0; t < taps; ++t)
          turned[static_cast<size_t>(((g * out + m) * in + c) * taps + taps - 1 - t)] =
              values[static_cast<size_t>(((g * in + c) * out + m) * taps + t)];
      }
    }
  }
  Dims made = dims;
  made[0] = groups * out;
  made[1] = in;
  return Tensor::from_doubles(weights.type(), made, turned);
}

struct TransposedSizes {
  std::vector<int64_t> x, y, strides, dilations, kernel, begin;
};

std::optional<TransposedSizes> sizes_of(const Node& own, const Tensor& weights) {
  const auto &x = own.input(0)->type.tensor.shape, &y = own.output(0)->type.tensor.shape;
  if (!x || !y || x->size() < 3) return std::nullopt;
  const size_t spatial = x->size() - 2;
  TransposedSizes sizes;
  for (size_t i = 0; i < spatial; ++i) {
    const auto from = (*x)[i + 2].constant(), to = (*y)[i + 2].constant();
    if (!from || !to) return std::nullopt;
    sizes.x.push_back(*from);
    sizes.y.push_back(*to);
    sizes.kernel.push_back(weights.dims()[i + 2]);
  }
  const std::vector<int64_t> ones(spatial, 1);
  sizes.strides = numbers_of(own, "strides", ones);
  sizes.dilations = numbers_of(own, "dilations", ones);
  const auto automatic = ops::text_attribute(own, "auto_pad");
  if (automatic != "NOTSET" || own.find_attribute("output_shape") != nullptr) return std::nullopt;
  sizes.begin = numbers_of(own, "pads", std::vector<int64_t>(2 * spatial, 0));
  return sizes;
}

}  // namespace

bool write_transposed_convolution(Replacement& node) {
  const Node& own = node.node();
  const Tensor* weights = own.op == "ConvTranspose" ? constant_of(own.input(1)) : nullptr;
  const auto sizes = weights == nullptr ? std::nullopt : sizes_of(own, *weights);
  if (!sizes) return false;
  const size_t spatial = sizes->x.size(), rank = spatial + 2;
  // Each element gets an axis of its own behind it, which zeros fill up to the stride.
  std::vector<int64_t> apart{0, 0}, together{0, 0}, zeros(2 * (2 + 2 * spatial), 0), pads(2 * rank, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t wide = sizes->x[i] * sizes->strides[i],
                  reach = sizes->dilations[i] * (sizes->kernel[i] - 1);
    apart.insert(apart.end(), {sizes->x[i], 1});
    together.push_back(wide);
    zeros[2 + 2 * spatial + 2 + 2 * i + 1] = sizes->strides[i] - 1;
    pads[2 + i] = reach - sizes->begin[i];
    pads[rank + 2 + i] = sizes->y[i] + reach - wide - pads[2 + i];
  }
  Value* x = own.input(0);
  const bool is_strided =
      std::any_of(sizes->strides.begin(), sizes->strides.end(), [](int64_t s) { return s > 1; });
  if (is_strided) x = node.reshape(node.pad(node.reshape(x, apart), zeros, 0), together);
  const int64_t groups = ops::integer_attribute(own, "group");
  std::vector<Value*> operands{node.pad(x, pads, 0), node.constant(turned_weights(*weights, groups))};
  if (own.input(2) != nullptr) operands.push_back(own.input(2));
  node("Conv", operands,
       {{"group", groups}, {"dilations", sizes->dilations}, {"kernel_shape", sizes->kernel}});
  return true;
}

bool write_groups(Replacement& node) {
  const Node& own = node.node();
  const int64_t groups = ops::integer_attribute(own, "group");
  const Tensor* weights = own.op == "Conv" ? constant_of(own.input(1)) : nullptr;
  constexpr int64_t kMost = 64;
  if (weights == nullptr || groups < 2 || groups > kMost) return false;
  const int64_t in = weights->dims()[1], out = weights->dims()[0] / groups;
  std::vector<Value*> parts;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<Value*> operands{node.slice(own.input(0), 1, g * in, (g + 1) * in),
                                 node.slice(own.input(1), 0, g * out, (g + 1) * out)};
    if (own.input(2) != nullptr) operands.push_back(node.slice(own.input(2), 0, g * out, (g + 1) * out));
    parts.push_back(node.copy(operands));
    node.last().attributes.insert_or_assign("group", Attribute(int64_t{1}));
  }
  node("Concat", parts, {{"axis", int64_t{1}}});
  return true;
}

}  // namespace vernier
