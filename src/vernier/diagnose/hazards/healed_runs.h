// Runs of a model in which places that quantize are taken out, or have better scales.
#pragma once

#include "vernier/diagnose/hazards/quantization_sites.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// The model computes as it declares, but for the cures of some of its sites.
class HealedRuns {
 public:
  explicit HealedRuns(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const std::vector<QuantizationSite>& sites() const { return sites_; }
  // The smallest and the largest that a value of the graph is, in the samples that were measured.
  using Ranges = std::map<const Value*, std::pair<double, double>>;
  const Ranges& ranges() const { return ranges_; }

  struct Observed {
    std::vector<Tensor> outputs;
    std::vector<ScaleUse> uses;  // site by site
  };
  // A run with all sites as the identity.
  Observed observe(const NamedData& inputs) const { return observe(inputs, nullptr); }
  // The same; adds to the sites and ranges what was seen.
  std::vector<Tensor> measure(const NamedData& inputs);
  // Outputs with these sites cured.
  std::vector<Tensor> run(const NamedData& inputs, const Cures& cures) const;

 private:
  Observed observe(const NamedData& inputs, Ranges* ranges) const;

  const Graph& graph_;
  std::vector<QuantizationSite> sites_;
  std::map<const Node*, const Node*> quantize_of_;  // of each DequantizeLinear
  Ranges ranges_;
};

}  // namespace vernier
