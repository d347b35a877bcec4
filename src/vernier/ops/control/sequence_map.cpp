// SequenceMap: runs a body for each element of a sequence. Further inputs are sequences of the same length,
// of which the body gets the element at the same place, or tensors, which it gets whole.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/join_types.h"
#include "vernier/ops/support/regions.h"

namespace vernier::ops {

namespace {

void infer_sequence_map(InferContext& context) {
  sequence_element(context, 0);
  std::vector<ValueInfo> inputs(context.input_count());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool sequence = context.type(i).kind == ValueType::Kind::kSequence;
    inputs[i].type = sequence ? taken_element(context, i) : context.type(i);
  }
  const auto outputs = context.infer_region(require_body(context.node()), inputs);
  for (size_t i = 0; i < context.output_count(); ++i)
    context.set_type(i, ValueType::sequence(outputs[i].type));
}

void reference_sequence_map(ReferenceContext& context) {
  const Graph& body = require_body(context.node());
  const size_t length = context.datum(0).as_sequence().size();
  std::vector<std::vector<Datum>> results(context.output_count());
  for (size_t at = 0; at < length; ++at) {
    std::vector<Datum> inputs;
    for (size_t i = 0; i < context.input_count(); ++i) {
      const Datum& input = context.datum(i);
      if (input.kind == Datum::Kind::kSequence && input.sequence->size() != length) {
        throw bad_input("sequences of {} and {} elements cannot be mapped together", length,
                        input.sequence->size());
      }
      inputs.push_back(input.kind == Datum::Kind::kSequence ? (*input.sequence)[at] : input);
    }
    auto outputs = context.run_region(body, std::move(inputs));
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(std::move(outputs[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) context.emit(i, Datum::of_sequence(std::move(results[i])));
}

}  // namespace

void register_sequence_map(OpRegistry& registry) {
  registry.add({.op = "SequenceMap",
                .operands = {Role::kData},
                .repeats = 1,
                .max_outputs = kVariadic,
                .traits = kControlFlow,
                .since = kNoNarrowFloats,
                .infer = infer_sequence_map,
                .reference = reference_sequence_map});
}

}  // namespace vernier::ops
