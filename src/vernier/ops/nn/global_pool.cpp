// GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one number per plane. The p of GlobalLpPool was a float
// before opset 2.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

void infer_global_pool(InferContext& context) {
  auto shape = context.shape(0);
  if (shape) {
    if (shape->size() < 2) throw bad_input("a pool needs batch and channels, not {}", shape_text(*shape));
    std::fill(shape->begin() + 2, shape->end(), Dim(1));
  }
  context.set_output(0, context.element(0), std::move(shape));
}

template <class Reduce>
void pool(ReferenceContext& context, Reduce reduce) {
  const Dims& dims = context.dims(0);
  const auto planes = dims[0] * dims[1], size = product(dims, 2, dims.size());
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(planes));
  parallel_for(planes, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   y[static_cast<size_t>(i)] =
                       reduce(x.span().subspan(static_cast<size_t>(i * size), static_cast<size_t>(size)));
                 }
               });
  context.store(0, y);
}

double sum(std::span<const double> plane) {
  double result = 0;
  for (const double x : plane) result += x;
  return result;
}

void average(ReferenceContext& context) {
  pool(context, [](std::span<const double> plane) { return sum(plane) / static_cast<double>(plane.size()); });
}

void maximum(ReferenceContext& context) {
  pool(context, [](std::span<const double> plane) {
    double result = -std::numeric_limits<double>::infinity();
    for (const double x : plane) {
      if (x > result || std::isnan(x)) result = x;
      if (std::isnan(x)) break;
    }
    return result;
  });
}

void lp(ReferenceContext& context) {
  const double p = context.version() == 1 ? context.attribute<float>("p", 2)
                                          : static_cast<double>(context.attribute<int64_t>("p", 2));
  pool(context, [p](std::span<const double> plane) {
    double result = 0;
    for (const double x : plane) result += std::pow(std::abs(x), p);
    return std::pow(result, 1 / p);
  });
}

void add(OpRegistry& registry, const char* op, std::vector<AttributeSpec> attributes,
         PrecisionClass precision, void (*reference)(ReferenceContext&), uint32_t traits = 0) {
  registry.add({.op = op,
                .operands = {Role::kData},
                .attributes = std::move(attributes),
                .traits = kReduction | traits,
                .precision = precision,
                .since = {22, 1},
                .infer = infer_global_pool,
                .reference = reference});
}

}  // namespace

void register_global_pool(OpRegistry& registry) {
  add(registry, "GlobalAveragePool", {}, PrecisionClass::kComputedWide, average, kAddsUp);
  add(registry, "GlobalMaxPool", {}, PrecisionClass::kBounded, maximum, kRoundsNothing);
  add(registry, "GlobalLpPool", {{"p", "INT"}}, PrecisionClass::kNeverLower, lp, kAddsUp);
}

}  // namespace vernier::ops
