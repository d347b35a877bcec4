#include "target.h"
#include "vernier/data/formats/npy.h"

VERNIER_FUZZ_TARGET([](auto bytes, auto) { vernier::read_npz(bytes); })
