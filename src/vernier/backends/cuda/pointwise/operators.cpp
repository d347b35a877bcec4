#include "vernier/backends/cuda/pointwise/operators.h"

#include <set>

namespace vernier::cuda {

using pointwise::Instruction;
using pointwise::Refused;
using Operator = PointwiseOperator;
using Kind = Instruction::Kind;

namespace {

constexpr bool kNoFloats = false, kIntegers = true, kBools = true;
constexpr Operator kOperators[] = {{"Add", 0, true, kIntegers},
                                   {"Sub", 0, true, kIntegers},
                                   {"Mul", 0, true, kIntegers},
                                   {"Div", 0, true, kIntegers},
                                   {"Mod", 0, true, kIntegers},
                                   {"Fmod", 0, true, kIntegers},
                                   {"Pow", 0, true, kIntegers},
                                   {"Max", 0, true, kIntegers},
                                   {"Min", 0, true, kIntegers},
                                   {"PRelu", 0, true, kIntegers},
                                   {"And", 0, kNoFloats, false, kBools},
                                   {"Or", 0, kNoFloats, false, kBools},
                                   {"Xor", 0, kNoFloats, false, kBools},
                                   {"Not", 0, kNoFloats, false, kBools},
                                   {"BitwiseAnd", 0, kNoFloats, kIntegers},
                                   {"BitwiseOr", 0, kNoFloats, kIntegers},
                                   {"BitwiseXor", 0, kNoFloats, kIntegers},
                                   {"BitwiseNot", 0, kNoFloats, kIntegers},
                                   {"ShiftLeft", 0, kNoFloats, kIntegers},
                                   {"ShiftRight", 0, kNoFloats, kIntegers},
                                   {"Neg", 0, true, kIntegers},
                                   {"Abs", 0, true, kIntegers},
                                   {"Sign", 0, true, kIntegers},
                                   {"Relu", 0, true, kIntegers},
                                   {"Sqrt"},
                                   {"Reciprocal"},
                                   {"Floor"},
                                   {"Ceil"},
                                   {"Round"},
                                   {"LeakyRelu", 1},
                                   {"ThresholdedRelu", 1},
                                   {"Shrink", 2},
                                   {"HardSigmoid", 2},
                                   {"HardSwish"},
                                   {"Softsign"},
                                   {"Exp"},
                                   {"Log"},
                                   {"Tanh"},
                                   {"Erf"},
                                   {"Sigmoid"},
                                   {"Swish", 1},
                                   {"Acos"},
                                   {"Acosh"},
                                   {"Asin"},
                                   {"Asinh"},
                                   {"Atan"},
                                   {"Atanh"},
                                   {"Cos"},
                                   {"Cosh"},
                                   {"Sin"},
                                   {"Sinh"},
                                   {"Tan"},
                                   {"Softplus"},
                                   {"Mish"},
                                   {"Gelu"},
                                   {"GeluTanh"},
                                   {"Elu", 1},
                                   {"Selu", 2},
                                   {"Celu", 1}};

}  // namespace

const Operator& operator_of(const Instruction& each) {
  for (const Operator& known : kOperators) {
    if (known.name != each.op) continue;
    const bool serves = each.type == ElementType::kBool ? known.bools
                        : is_float(each.type)           ? known.floats
                                                        : known.integers;
    if (serves) return known;
  }
  throw Refused{fmt::format("{} of {} has no function", each.op, element_type_short_name(each.type))};
}

bool may_fault(const Instruction& each) {
  static const std::set<std::string, std::less<>> checked = {"Div", "Mod", "Fmod", "Pow"};
  return each.kind == Kind::kApply && checked.contains(each.op);
}

bool is_approximate(const Instruction& each) {
  static const std::set<std::string, std::less<>> quick = {"Exp",   "Log",  "Tanh",     "Erf",      "Sigmoid",
                                                           "Swish", "Gelu", "GeluTanh", "Softplus", "Mish",
                                                           "Elu",   "Selu", "Celu"};
  return each.kind == Kind::kApply && quick.contains(each.op);
}

bool is_quick_in_16_bits(const Instruction& each) {
  return each.kind == Kind::kApply && each.type == ElementType::kFloat &&
         (each.op == "Gelu" || each.op == "GeluTanh" || each.op == "Sigmoid" || each.op == "Swish");
}

}  // namespace vernier::cuda
