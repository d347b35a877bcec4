// The typed program of a node, or of a group, to loops of this backend.
#include "vernier/backends/cpu/pointwise/program_builder.h"
#include "vernier/backends/shared/pointwise/program.h"

namespace vernier::cpu {

namespace {

using pointwise::Instruction;
using Register = ProgramBuilder::Register;
constexpr double kFunctionCost = 8, kLibmCost = 100;

class LoopChooser {
 public:
  explicit LoopChooser(const KernelRequest& request) : builder_(request) {}

  PointwiseProgram run(const pointwise::Program& program) {
    for (const Instruction& instruction : program) registers_.push_back(translate(instruction));
    return builder_.finish();
  }

 private:
  std::vector<Register> operands(const Instruction& instruction) const {
    std::vector<Register> all;
    for (const size_t from : instruction.from) all.push_back(registers_[from]);
    return all;
  }

  Register translate(const Instruction& each) {
    using Kind = Instruction::Kind;
    const auto from = operands(each);
    switch (each.kind) {
      case Kind::kLoad: return builder_.load(each.index, each.dims);
      case Kind::kImmediate: return builder_.immediate(each.type, each.alpha);
      case Kind::kApply: return apply(each, from);
      case Kind::kPredicate:
        return builder_.emit(predicate_loop(each.op, each.operand_type), each.type, from, each.op, each.alpha,
                             each.beta);
      case Kind::kSelect: return builder_.emit(select_loop(each.type), each.type, from, "Where");
      case Kind::kCast: return builder_.cast(from[0], each.to);
      case Kind::kRound: return builder_.round(from[0], each.to);
      case Kind::kSaturate: return builder_.emit(saturate_loop(each.to), each.to, from, "QuantizeLinear");
      case Kind::kQuantize:
        return builder_.emit(quantize_loop(each.to), each.to, from, "QuantizeLinear", each.alpha, each.beta);
      case Kind::kDequantize:
        return builder_.emit(dequantize_loop(each.operand_type), each.type, from, "DequantizeLinear",
                             each.alpha, each.beta);
      case Kind::kStore: builder_.store(from[0], each.index, each.to); return from[0];
    }
    throw internal_error("an instruction of no kind");
  }

  // The loop of an operator in one type: a fast one if there is one.
  Register apply(const Instruction& each, const std::vector<Register>& from) {
    const ElementType type = each.type;
    Loop loop = float_loop(each.op, type);
    if (loop == nullptr) loop = integer_loop(each.op, type);
    if (loop != nullptr) return builder_.emit(loop, type, from, each.op, each.alpha, each.beta);
    loop = function_loop(each.op, type);
    const bool fast = loop != nullptr;
    if (!fast) loop = libm_loop(each.op, type);
    const Register result = builder_.emit(loop, type, from, each.op, each.alpha, each.beta);
    builder_.charge(fast ? kFunctionCost : kLibmCost);
    if (fast) builder_.set_approximate();
    return result;
  }

  ProgramBuilder builder_;
  std::vector<Register> registers_;  // by the number of the value
};

}  // namespace

std::optional<PointwiseProgram> compile_pointwise(const KernelRequest& request, std::string& reason) {
  const auto program = pointwise::lower(request, reason);
  if (!program) return std::nullopt;
  try {
    return LoopChooser(request).run(*program);
  } catch (const Refused& refused) {
    reason = refused.reason;
    return std::nullopt;
  }
}

}  // namespace vernier::cpu
