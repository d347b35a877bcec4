// BlackmanWindow, HannWindow, HammingWindow: sums of cosines over one period. Periodic windows leave out the
// last point.
#include <numbers>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"

namespace vernier::ops {

namespace {

// a0 - a1 cos(x) + a2 cos(2 x)
struct Cosines {
  double a0, a1, a2;
};
constexpr Cosines kBlackman{0.42, 0.5, 0.08}, kHann{0.5, 0.5, 0}, kHamming{25.0 / 46, 21.0 / 46, 0};

void infer_windows(InferContext& context) {
  context.element(0);
  const auto size = scalar_content(context, 0);
  context.set_output(0, element_type_attribute(context.node(), "output_datatype", ElementType::kFloat),
                     Shape{size ? checked_size(*size) : context.fresh("size")});
}

template <Cosines Window>
void reference_windows(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  const bool periodic = context.attribute<int64_t>("periodic", 1) != 0;
  // A symmetric window of one point has no period; its point is the first of any other.
  const auto period = static_cast<double>(std::max<int64_t>(1, periodic ? out[0] : out[0] - 1));
  for (size_t i = 0; i < y.size(); ++i) {
    const double x = 2 * std::numbers::pi * static_cast<double>(i) / period;
    y[i] = Window.a0 - Window.a1 * std::cos(x) + Window.a2 * std::cos(2 * x);
  }
  context.store(0, out, y);
}

template <Cosines Window>
void add(OpRegistry& registry, const char* op) {
  registry.add({.op = op,
                .operands = {Role::kSizes},
                .attributes = {{"output_datatype", "INT"}, {"periodic", "INT"}},
                .precision = PrecisionClass::kStatesType,
                .since = {17, 17},
                .infer = infer_windows,
                .reference = reference_windows<Window>});
}

}  // namespace

void register_windows(OpRegistry& registry) {
  add<kBlackman>(registry, "BlackmanWindow");
  add<kHann>(registry, "HannWindow");
  add<kHamming>(registry, "HammingWindow");
}

}  // namespace vernier::ops
