// Exponentials in f32, and what is made of them.
#include "vernier/backends/cpu/pointwise/loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/function_loops.cpp"
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

Loop find_function_loop(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"Exp", unary<float, ExpOp>},           {"Log", unary<float, LogOp>},
      {"Tanh", unary<float, TanhOp>},         {"Sigmoid", unary<float, SigmoidOp>},
      {"Swish", unary<float, SwishOp>},       {"Softplus", unary<float, SoftplusOp>},
      {"Mish", unary<float, MishOp>},         {"Elu", unary<float, EluOp>},
      {"Selu", unary<float, SeluOp>},         {"Celu", unary<float, CeluOp>},
      {"Gelu", unary<float, GeluOp>},         {"Erf", unary<float, ErfOp>},
      {"GeluTanh", unary<float, GeluTanhOp>},
  };
  return find(kLoops, op);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_function_loop);

Loop function_loop(std::string_view op, ElementType type) {
  if (type != ElementType::kFloat) return nullptr;
  const Loop loop = HWY_DYNAMIC_DISPATCH(find_function_loop)(op);
  return loop != nullptr ? loop : wide_function_loop(op);
}

}  // namespace vernier::cpu
#endif
