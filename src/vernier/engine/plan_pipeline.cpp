#include "vernier/engine/plan_pipeline.h"

#include "vernier/passes/passes.h"

namespace vernier {

std::vector<Pass> plan_pipeline(const GroupTraits& traits) {
  std::vector<Pass> passes{fold_constants(), pad_explicitly(),     remove_identities(),
                           merge_sizes(),    merge_common_nodes(), recognise_attention(),
                           fold_constants(), settle_masks(),       merge_common_nodes()};
  if (traits.unfolds_patches)
    for (Pass& pass : std::vector<Pass>{unfold_patches(), fold_constants(), remove_views()})
      passes.push_back(std::move(pass));
  for (Pass& pass : std::vector<Pass>{merge_transposes(), remove_views(), remove_dead_code(),
                                      read_packed_heads(), read_embeddings()})
    passes.push_back(std::move(pass));
  if (!traits.computes_groups) return passes;
  passes.push_back(fuse_epilogues(traits.can_follow));
  if (traits.attends_int8)
    passes.push_back(group_quantized_attention());  // before others group what it takes
  if (traits.joins_depthwise) passes.push_back(fuse_pointwise_depthwise());
  for (Pass& pass : std::vector<Pass>{
           split_dequantize(), fuse_pointwise(traits.is_pointwise, traits.ends_chain), remove_dead_code()})
    passes.push_back(std::move(pass));
  return passes;
}

}  // namespace vernier
