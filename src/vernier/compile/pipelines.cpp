#include "vernier/compile/pipelines.h"

#include "vernier/backends/installed/drivers.h"
#include "vernier/engine/plan_pipeline.h"
#include "vernier/passes/passes.h"

namespace vernier {

std::vector<Pass> integer_pipeline() {
  return {fold_constants(true), remove_identities(), propagate_dequantize(), fold_constants(true),
          split_dequantize(),   fuse_qdq(),          remove_dead_code()};
}

std::vector<Pass> model_pipeline() {
  return {fold_constants(),      remove_identities(),    hoist_loop_invariants(),
          batch_loop_products(), fold_constants(),       merge_common_nodes(),
          expand_fused_conv(),   lower_microsoft(),      lower_einsum(),
          constant_reshapes(),   remove_dead_code(),     fold_batch_norm(),
          recognise_silu(),      recognise_gelu(),       recognise_hard_swish(),
          recognise_softmax(),   recognise_layer_norm(), recognise_rms_norm(),
          recognise_l2_norm(),   recognise_attention(),  fold_pad(),
          remove_dead_code()};
}

std::vector<Pass> typed_pipeline() {
  return {remove_views(),   remove_identities(), merge_common_nodes(), remove_dead_code(), join_products(),
          fold_constants(), sink_transposes(),   merge_transposes(),   remove_dead_code()};
}

std::set<std::string> pass_names() {
  std::set<std::string> names{"apply-precision", "retype-nodes", group_quantized_attention().name,
                              unfold_patches().name};
  for (const auto& pipeline : {integer_pipeline(), model_pipeline(), typed_pipeline(),
                               plan_pipeline(host_driver().group_traits())}) {
    for (const Pass& pass : pipeline) names.insert(pass.name);
  }
  return names;
}

}  // namespace vernier
