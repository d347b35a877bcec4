#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/repeats/repeatability.h"

namespace vernier {

// The one sentence that the user needs, about the engine of that name.
std::string verdict_sentence(const Diagnosis& diagnosis, const std::string& engine,
                             const Repeatability& repeatability);

}  // namespace vernier
