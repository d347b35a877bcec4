// What engines ask of tactics, and of the tuner.
#pragma once

#include "vernier/tune/tuner.h"

namespace vernier {

// With approximate tactics among those that must not be used, if the options say so.
TuneOptions with_names(TuneOptions options);

}  // namespace vernier
