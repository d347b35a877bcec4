// The changes that make a case smaller. Each offers candidates until none is kept, or the time is over.
// Internal to the room.
#pragma once

#include "vernier/reduce/shrinking.h"

namespace vernier {

// Nodes of the main graph: first those around the first wrong value, then delta debugging. What is left out
// is replaced by inputs with what the reference makes there.
// False if not even a copy of the whole shows the symptom.
bool cut_nodes(Shrinking& shrinking);
// The cone of one output that is wrong, without the others.
void cut_outputs(Shrinking& shrinking);
// Nodes whose result has the type and sizes of an operand: what reads the result reads the operand instead.
void bypass_nodes(Shrinking& shrinking);
// Branches of If, bodies of Loop and Scan: as models of their own, on what one of their runs reads; or in the
// place of the node.
void open_regions(Shrinking& shrinking);
// Nodes inside of regions: what is left out is read from around the region instead.
void cut_region_nodes(Shrinking& shrinking);
// Sizes of inputs, with constants and attributes that go with them.
void shrink_sizes(Shrinking& shrinking);
// Attributes that are left at their defaults.
void drop_attributes(Shrinking& shrinking);
// The content of inputs and constants: zeros, ones, a coarse grid; fewer trips of loops.
void simplify_values(Shrinking& shrinking);

}  // namespace vernier
