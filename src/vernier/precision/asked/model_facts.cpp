#include "vernier/precision/asked/model_facts.h"

namespace vernier {

void say_what_is_declared(PrecisionPlan& plan, const ModelFacts& facts, const PrecisionOptions& options) {
  size_t declared_narrow = 0;
  for (auto& [name, layer] : plan.layers) {
    const LayerPrecision* declared = facts.declared.find(name);
    if (declared == nullptr || !is_float(declared->store) || !is_float(layer.store)) continue;
    if (layer.by == LayerPrecision::By::kDeclared && layer.store != declared->store && !facts.asked.empty())
      layer.by = LayerPrecision::By::kRule, layer.why = "hands on what is computed in f32";
    if (layer.store == declared->store && !holds(layer.store, ElementType::kFloat)) ++declared_narrow;
  }
  const char* lowers = options.bf16 ? "bf16" : options.fp16 ? "fp16" : options.int8 ? "int8" : nullptr;
  if (lowers == nullptr || declared_narrow == 0) return;
  plan.notes.push_back(
      fmt::format("{} nodes are declared narrower than f32 and stay as they are: --{} lowers nodes of f32",
                  declared_narrow, lowers));
}

}  // namespace vernier
