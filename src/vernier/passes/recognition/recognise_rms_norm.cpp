// x / sqrt(mean square + epsilon) * scale, operator by operator, is one RMSNormalization. After
// recognise-layer-norm, whosen// pattern holds this one.
#include "vernier/passes/passes.h"
#include "vernier/passes/recognition/row_normalisation.h"

namespace vernier {

Pass recognise_rms_norm() {
  return {"recognise-rms-norm", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) {
              found += recognise_row_normalisations(inner, false, "RMSNormalization", 23);
            });
            return found;
          }};
}

}  // namespace vernier
