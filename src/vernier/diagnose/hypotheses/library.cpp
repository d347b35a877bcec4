#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

std::optional<size_t> stored_output(const Member& member, size_t result, const FlaggedNode& flagged) {
  const Value* value = member.node().output(result);
  for (size_t i = 0; value != nullptr && i < flagged.node->outputs.size(); ++i) {
    if (flagged.node->outputs[i] != nullptr && flagged.node->outputs[i]->name == value->name) return i;
  }
  return std::nullopt;
}

const Tensor* made_in_place(const Member& member, size_t result, const FlaggedNode& flagged) {
  const auto output = stored_output(member, result, flagged);
  if (!output) return nullptr;
  const Tensor& made = flagged.made[*output];
  return made.is_defined() && made.dims() == member.out(result).dims() ? &made : nullptr;
}

const std::vector<Hypothesis>& hypotheses() {
  static const std::vector<Hypothesis> all = {
      {"clip-bounds", propose_clip_bounds, false, true},
      {"masks", propose_masks},
      {"control-flow", propose_control_flow},
      {"loop-bodies", propose_loop_bodies},
      {"windows", propose_windows, false, true},
      {"convolution-groups", propose_convolution_groups, false, true},
      {"pools", propose_pools, false, true},
      {"resampling", propose_resampling, false, true},
      {"normalization", propose_normalization, false, true},
      {"normalized-groups", propose_normalized_groups},
      {"attentions", propose_attentions, false, true},
      {"recurrences", propose_recurrences, false, true},
      {"opset", propose_opset, false, true},
      {"quantized-parameters", propose_quantized_parameters},
      {"quantized-bias", propose_quantized_bias},
      {"quantized-rounding", propose_quantized_rounding},
      {"saturating-sums", propose_saturating_sums},
      {"integers", propose_integers, false, true},
      {"nans", propose_nans},
      {"ties", propose_ties, false, true},
      {"indices", propose_indices, false, true},
      {"scatters", propose_scatters, false, true},
      {"other-rows", propose_other_rows},
      {"precisions", propose_precisions, true},
      {"coded-operands", propose_coded_operands, true},
      {"accumulators", propose_accumulators, true},
      {"statistics", propose_statistics, true},
      {"casts", propose_casts},
      {"narrow-integers", propose_narrow_integers},
      {"approximations", propose_approximations},
      {"lost-tails", propose_lost_tails},
      {"lost-operands", propose_lost_operands, false, true},
      {"operand-order", propose_operand_order, false, true},
      {"constants", propose_constants, false, true},
      {"channel-constants", propose_channel_constants},
      {"axes", propose_axes, false, true},
      {"element-orders", propose_element_orders, false, true},
      {"lost-attributes", propose_lost_attributes, false, true},
      {"attribute-values", propose_attribute_values, false, true},
      {"other-operators", propose_other_operators, false, true},
      {"added-functions", propose_added_functions, true},
      {"layouts", propose_layouts},
      {"caller", propose_caller},
      {"states", propose_states},
      {"batch-rows", propose_batch_rows},
      {"channels", propose_channels},
      {"input-channels", propose_input_channels},
      {"other-values", propose_other_values, true},
      {"parts", propose_parts},
      {"refits", propose_refits, true},
      {"fused-refits", propose_fused_refits, true},
  };
  return all;
}

}  // namespace vernier
