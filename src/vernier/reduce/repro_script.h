// repro.py: a script that shows the symptom without Vernier. Internal to the room.
#pragma once

#include <string>

#include "vernier/reduce/repro_folder.h"

namespace vernier {

// Its text. It needs Python and numpy, and what the engine needs. Exit status 1: the symptom is there; 0: it
// is not.
std::string repro_script(const ReproFiles& files);

}  // namespace vernier
