// A user who interrupts long work may want what was found so far.
#pragma once

namespace vernier {

// From now on the first interruption ends no longer the program, but is_interrupted() says so: work that can
// be cut short asks. The second one ends the program.
void take_interruptions();
bool takes_interruptions();
void interrupt();
bool is_interrupted();

}  // namespace vernier
