#pragma once

#include "vernier/diagnose/diagnosis.h"

namespace vernier {

// What to do about it, as far as the cause alone says. Nothing is tried.
Repair repair_of(const Culprit& culprit);

}  // namespace vernier
