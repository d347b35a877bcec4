// A pointwise operator, or a group of them, computes this for each element: a typed program without loops. A
// backend chooses loops for its instructions, or writes them as source.
//
// Values are numbered: instruction i makes value i. Registers hold the types of memory but for f16 and bf16,
// which are f32 there.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "vernier/exec/backend.h"

namespace vernier::pointwise {

struct Instruction {
  enum class Kind : uint8_t {
    kLoad,        // the element of `index`, an input of the request whose sizes are aligned as `dims`
    kImmediate,   // alpha
    kApply,       // the operator `op`, whose operands and result are of `type`; alpha and beta are attributes
    kPredicate,   // the operator `op` to BOOL, of operands of `operand_type`
    kSelect,      // operand 0 ? operand 1 : operand 2
    kCast,        // to the type `to`, by the rules of Cast; held in a register
    kRound,       // to the nearest of the type `to`, and held as it was
    kSaturate,    // integral f32 to the integer type `to`: what is beyond its range becomes its end, NaN the
                  // lowest
    kQuantize,    // f32 to `to`, with the scale alpha and the zero point beta
    kDequantize,  // `operand_type` to f32, with the scale alpha and the zero point beta
    kStore,       // to the output `index`, whose type is `to`
  };
  Kind kind = Kind::kLoad;
  std::string op = {};  // ONNX's name; beyond it "GeluTanh", "Fmod", "ShiftLeft", "ShiftRight"
  ElementType type = ElementType::kUndefined;  // of the result, in a register
  ElementType operand_type = ElementType::kUndefined;
  ElementType to = ElementType::kUndefined;
  std::vector<size_t> from = {};  // the values of operands
  double alpha = 0, beta = 0;
  size_t index = 0;
  Dims dims = {};
};

using Program = std::vector<Instruction>;

// Thrown, and caught, while a program is made, or brought to a backend.
struct Refused {
  std::string reason;
};

// The type of a value in registers.
ElementType register_type(ElementType type);

// Nothing, with `reason`, for nodes that are not computed element by element. Whether a backend can compute
// each of the instructions is for the backend to say.
std::optional<Program> lower(const KernelRequest& request, std::string& reason);

}  // namespace vernier::pointwise
