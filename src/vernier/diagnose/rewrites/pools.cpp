// MaxPool and AveragePool: padding as a Pad, and the sizes of windows at the border as factors.
#include <cmath>
#include <limits>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier {

namespace {

// Pads of all axes with which every window of the result lies inside: what ceil_mode lets hang over is
// padding, too. Nothing where the sizes are not known.
std::optional<std::vector<int64_t>> whole_pads(const Node& pool, const Dims& x, const Dims& y) {
  const size_t rank = x.size(), spatial = rank - 2;
  const auto kernel = pool.attribute<std::vector<int64_t>>("kernel_shape", {});
  const auto strides = numbers_of(pool, "strides", std::vector<int64_t>(spatial, 1));
  const auto dilations = numbers_of(pool, "dilations", std::vector<int64_t>(spatial, 1));
  const auto own = numbers_of(pool, "pads", std::vector<int64_t>(2 * spatial, 0));
  const auto automatic = ops::text_attribute(pool, "auto_pad");
  if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) return std::nullopt;
  if (kernel.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      own.size() != 2 * spatial)
    return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = (y[i + 2] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
    pads[2 + i] = own[i];
    pads[rank + 2 + i] = reach - x[i + 2] - own[i];
  }
  return pads;
}

// By what the mean of whole windows is to be multiplied: found by running both on ones.
Tensor border_factors(const Node& pool, const Node& plain, const Dims& x, const std::vector<int64_t>& pads) {
  Dims one = x;
  one[0] = one[1] = 1;
  const std::vector<double> ones(static_cast<size_t>(element_count(one)), 1);
  const Tensor image = Tensor::from_doubles(ElementType::kFloat, one, ones);
  Dims wide = one;
  for (size_t i = 0; i < wide.size(); ++i) wide[i] += pads[i] + pads[wide.size() + i];
  // Ones where the image is, in zeros.
  std::vector<double> padded(static_cast<size_t>(element_count(wide)), 0);
  for (int64_t at = 0; at < element_count(wide); ++at) {
    int64_t rest = at;
    bool inside = true;
    for (size_t i = wide.size(); i-- > 0;) {
      const int64_t place = rest % wide[i] - pads[i];
      rest /= wide[i];
      inside = inside && place >= 0 && place < one[i];
    }
    padded[static_cast<size_t>(at)] = inside ? 1 : 0;
  }
  const Tensor around = Tensor::from_doubles(ElementType::kFloat, wide, padded);
  const Tensor right = ops::evaluate(pool, {&image}).at(0).tensor,
               made = ops::evaluate(plain, {&around}).at(0).tensor;
  auto factors = right.to_doubles();
  const auto found = made.to_doubles();
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = found[i] > 0 ? factors[i] / found[i] : 1;
  return Tensor::from_doubles(ElementType::kFloat, right.dims(), factors);
}

}  // namespace

bool write_pads(Replacement& node) {
  const Node& pool = node.node();
  const bool is_mean = pool.op == "AveragePool";
  if ((pool.op != "MaxPool" && !is_mean) || pool.output(1) != nullptr) return false;
  // Sizes of the batch and of channels may be anything.
  const auto sizes = [](const Value* value) -> std::optional<Dims> {
    if (value == nullptr || !value->type.tensor.shape || value->type.tensor.shape->size() < 3)
      return std::nullopt;
    Dims dims;
    for (size_t i = 0; i < value->type.tensor.shape->size(); ++i) {
      const auto known = (*value->type.tensor.shape)[i].constant();
      if (!known && i >= 2) return std::nullopt;
      dims.push_back(known.value_or(1));
    }
    return dims;
  };
  const auto x = sizes(pool.input(0)), y = sizes(pool.output(0));
  const auto pads = x && y ? whole_pads(pool, *x, *y) : std::nullopt;
  if (!pads) return false;
  const double with = is_mean ? 0 : -std::numeric_limits<double>::infinity();
  Value* result = node.copy({node.pad(pool.input(0), *pads, with)});
  for (const char* gone : {"pads", "auto_pad", "ceil_mode", "count_include_pad"})
    node.last().attributes.erase(gone);
  if (!is_mean) return true;
  const Tensor factors = border_factors(pool, node.last(), *x, *pads);
  const auto values = factors.to_doubles();
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == 1; })) return true;
  node("Mul", {result, node.constant(Tensor::from_doubles(node.type(), factors.dims(), values))});
  return true;
}

}  // namespace vernier
