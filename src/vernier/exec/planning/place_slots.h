// Gives every slot of a plan its memory.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// Sets homes, storages and offsets of the slots, what is dead after each step, and the size of the arena.
// Inputs of a Concat are made inside its output where they lie there in one piece; a kernel that may
// overwrite its input does so.
void place_slots(Plan& plan);

}  // namespace vernier
