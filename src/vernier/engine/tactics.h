// What engines ask of tactics.
#pragma once

#include "vernier/tune/tuner.h"

namespace vernier {

// What tactics are judged by: the outputs of a model by the reference, for inputs in the order of its graph.
std::vector<Tensor> outputs_by_reference(const Model& model, const std::vector<Tensor>& inputs);

// With approximate tactics among those that must not be used, if the options say so.
TuneOptions with_names(TuneOptions options);

}  // namespace vernier
