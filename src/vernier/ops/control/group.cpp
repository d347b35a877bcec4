// vernier::Group: computes its body, see ops/group.h. In the declared reference every value of the body is
// rounded as declared.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/regions.h"

namespace vernier::ops {

namespace {

void infer_group(InferContext& context) {
  std::vector<ValueInfo> inputs;
  for (size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.info(i));
  context.outputs() = context.infer_region(require_region(context.node(), "body"), inputs);
}

void reference_group(ReferenceContext& context) {
  std::vector<Datum> inputs;
  for (size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.datum(i));
  auto outputs = context.run_region(require_region(context.node(), "body"), std::move(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) context.emit(i, std::move(outputs[i]));
}

}  // namespace

void register_group(OpRegistry& registry) {
  registry.add({.domain = "vernier",
                .op = "Group",
                .operands = {Role::kData},
                .optional_inputs = 1,
                .repeats = 1,
                .max_outputs = kVariadic,
                .attributes = {{"kind", "STRING"}},
                .infer = infer_group,
                .reference = reference_group});
}

}  // namespace vernier::ops
