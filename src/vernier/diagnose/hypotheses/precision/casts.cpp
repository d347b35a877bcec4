// B14: a Cast to fewer digits is not executed, so what reads it gets what was there before; or what lies
// between two Casts is computed in the type around them. Where no Cast says that numbers are rounded, but
// only the types of values do, an engine may keep more digits.
#include <algorithm>

#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/evaluate.h"

namespace vernier {

namespace {

bool is_narrow(ElementType type) {
  return is_float(type) && unit_roundoff(type) > unit_roundoff(ElementType::kFloat);
}

// A Cast that loses digits, or what is behind the point.
bool narrows(const Node& node) {
  if (!has_op(node, {"Cast"})) return false;
  const ElementType from = element_type_of(node.input(0)), to = element_type_of(node.output(0));
  if (!is_float(from)) return false;
  return is_integer(to) || (is_float(to) && unit_roundoff(to) > unit_roundoff(from));
}

// Values as they would be if nothing were rounded to a narrow type on the way.
class Unrounded {
 public:
  Unrounded(const Surroundings& around, const HypothesisContext& context)
      : around_(around), context_(context) {}

  // Doubles; throws unsupported where something is not shown.
  Tensor of(const Value* value, int steps) const {
    const Node* node = around_.producer(value);
    const ElementType type = element_type_of(value);
    if (node == nullptr || steps == 0 || !node->regions.empty()) return shown(value);
    if (narrows(*node)) return of(node->input(0), steps - 1);
    return is_narrow(type) ? computed(*node, value, steps) : shown(value);
  }

 private:
  Tensor shown(const Value* value) const {
    const Value* real = around_.resolved(value);
    const Tensor* known = real == nullptr ? nullptr : context_.value(*real);
    if (known == nullptr && value != nullptr) known = context_.value(*value);
    if (known == nullptr) throw unsupported("a value is not shown");
    if (!is_real(*known)) return *known;
    return Tensor::from_doubles(ElementType::kDouble, known->dims(), known->to_doubles());
  }

  Tensor computed(const Node& node, const Value* value, int steps) const {
    Tensors inputs;
    std::vector<ElementType> declared;
    for (const Value* input : node.inputs) {
      inputs.push_back(input == nullptr ? Tensor() : of(input, steps - 1));
      declared.push_back(element_type_of(input));
    }
    std::vector<const Tensor*> operands;
    for (const Tensor& input : inputs) operands.push_back(input.is_defined() ? &input : nullptr);
    const auto results = ops::evaluate(node, operands, ops::ReferenceMode::kIdeal, declared);
    const Value* real = around_.resolved(value);
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] == real && results[i].is_tensor()) return results[i].tensor;
    }
    throw unsupported("the node makes no tensor");
  }

  const Surroundings& around_;
  const HypothesisContext& context_;
};

constexpr int kSteps = 6;  // back to a Cast

// Whether the operand was rounded by a Cast to a narrow type, or an integer, where it was made.
bool was_narrowed(const Member& member, size_t input, const Surroundings& around) {
  const Value* value = member.node().input(input);
  if (value == nullptr || member.is_constant(input) || !member.has(input)) return false;
  const auto stays_narrow = [](const Node& node) { return is_narrow(element_type_of(node.output(0))); };
  return around.comes_from(value, narrows, stays_narrow, kSteps);
}

}  // namespace

void propose_casts(const Member& member, const FlaggedNode&, const HypothesisContext& context,
                   std::vector<Proposal>& proposals) {
  if (!context.value || !is_float(member.declared_result())) return;
  const Surroundings around(context.graph);
  Tensors inputs = member.inputs();
  bool changes = false, is_integer_pair = false;
  try {
    const Unrounded unrounded(around, context);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!was_narrowed(member, i, around)) continue;
      const Tensor before = unrounded.of(member.node().input(i), kSteps);
      if (before.dims() != inputs[i].dims() || !is_real(before)) continue;
      is_integer_pair = is_integer_pair || !is_real(inputs[i]);
      changes = changes || before.to_doubles() != inputs[i].to_doubles();
      inputs[i] = before;
    }
  } catch (const Error&) {
    return;  // what stood there before is not known
  }
  const bool casts = member.is("Cast");
  if (!changes || (is_integer_pair && !casts)) return;
  proposals.push_back(
      {FailureClass(14),
       casts ? "it gives what stood before the Cast that it seems to undo"
             : "it reads what stood before the Cast to the narrower type, which is not executed",
       [&member, inputs = std::move(inputs), casts] {
         return casts ? Tensors{inputs[0]} : member.with_inputs(inputs);
       }});
}

}  // namespace vernier
