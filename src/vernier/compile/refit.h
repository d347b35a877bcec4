// Engines of stripped files, whose weights are in the model.
#pragma once

#include "vernier/compile/compiler.h"

namespace vernier {

// The engine of a stripped file with the weights of the model it was built from, or of one of equal
// structure: compiled with the options and choices that the file records; of `options` only the timing cache
// and the fault count. Throws bad_input where the model's graph is another.
std::shared_ptr<const Engine> refit_engine(const std::filesystem::path& path, const Model& model,
                                           const BuildOptions& options);

}  // namespace vernier
