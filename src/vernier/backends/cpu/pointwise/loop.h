// The instructions of a pointwise program: loops over the elements of a tile, by operator and type, compiled
// for every instruction set that they gain from.
//
// Registers of a program hold the types of memory but for f16 and bf16, which are f32 in registers.
#pragma once

#include <string_view>

#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

// A loop may read and write to the end of the last block of this many elements.
inline constexpr int64_t kLoopBlock = 64;

struct LoopArguments {
  void* to;
  const void *a, *b, *c;
  int64_t count;
  double alpha, beta;  // attributes of the operator
  bool* fault;         // set where the operator has no value (an integer divided by zero)
};

// `to` may be where an operand is, if their elements are of one size.
using Loop = void (*)(const LoopArguments&);

// By ONNX's name of an operator whose operands and result are of `type`; null where there is none. Beyond
// ONNX: "GeluTanh", "Fmod" (Mod with fmod = 1), "ShiftLeft", "ShiftRight".
Loop float_loop(std::string_view op, ElementType type);     // f32, f64: what is exact or rounds once
Loop function_loop(std::string_view op, ElementType type);  // f32: exponentials and what is made of them
Loop wide_function_loop(std::string_view op);               // f32, computed in f64
Loop libm_loop(std::string_view op, ElementType type);      // f32, f64: one element after the other
Loop integer_loop(std::string_view op, ElementType type);   // integers and bool
// From operands of `type` to BOOL: comparisons, IsNaN, IsInf.
Loop predicate_loop(std::string_view op, ElementType type);
// c ? a : b, the condition being `a` of the arguments and the operands `b` and `c`.
Loop select_loop(ElementType type);
// Between any two types of registers or memory; f16 and bf16 are those of memory.
Loop cast_loop(ElementType from, ElementType to);
// Integral f32 to integers of 8 or 16 bits: what is beyond their range becomes its end, NaN the lowest.
Loop saturate_loop(ElementType to);
// With the scale as alpha and the zero point as beta: f32 to integers of 8 or 16 bits, and back.
Loop quantize_loop(ElementType to);
Loop dequantize_loop(ElementType from);
// f32 to the nearest f16 or bf16, kept as f32.
Loop round_loop(ElementType to);

}  // namespace vernier::cpu
