// (x - mean) / sqrt(variance + epsilon) * scale + bias, operator by operator, is one LayerNormalization.
#include "vernier/passes/passes.h"
#include "vernier/passes/recognition/row_normalisation.h"

namespace vernier {

Pass recognise_layer_norm() {
  return {"recognise-layer-norm", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) {
              found += recognise_row_normalisations(inner, true, "LayerNormalization", 17);
            });
            return found;
          }};
}

}  // namespace vernier
