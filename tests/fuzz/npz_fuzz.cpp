#include "target.h"
#include "vernier/data/formats/npz.h"

VERNIER_FUZZ_TARGET([](auto bytes, auto) { vernier::read_npz(bytes); })
