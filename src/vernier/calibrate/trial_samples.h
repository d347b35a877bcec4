// Some of the samples, on which engines are compared.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "vernier/calibrate/range_method.h"
#include "vernier/ir/graph.h"
#include "vernier/precision/calibration.h"
#include "vernier/precision/options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct Model;

class TrialSamples {
 public:
  // Keeps the sample, unless kMost of a lesser hash are kept: which ones are does not depend on the order.
  void offer(uint64_t hash, const NamedData& inputs);

  using Outputs = std::vector<NamedData>;  // of each sample
  // Gives what an engine of floats makes of them.
  Outputs float_outputs(const Model& model) const;
  // The relative L2 error of the int8 engine by these scales against such outputs, over all samples; the
  // geometric mean of the outputs of floats. Throws what building and running engines throws.
  double int8_error(const Model& model, const Scales& scales, const Outputs& exact) const;

  static constexpr size_t kMost = 16;

 private:
  Outputs outputs_by(const Model& model, const PrecisionOptions& precision) const;

  std::map<uint64_t, NamedData> kept_;
};

// Without one there is nothing to compare.
bool has_float_output(const Model& model);

// Measures what each method costs the outputs of a model: engines of int8 are built by its ranges, and
// compared with the one of floats.
struct MethodTrial {
  RangeMethod method = RangeMethod::kEntropy;
  double error = 0;  // TrialSamples::int8_error
};

// One trial for each method, the best first; of equal ones the order is that of RangeMethod. None where the
// model has no output of floats. Throws what building and running engines throws.
std::vector<MethodTrial> try_methods(const Model& model, const TrialSamples& samples,
                                     const std::function<Scales(RangeMethod)>& scales_by);

}  // namespace vernier
