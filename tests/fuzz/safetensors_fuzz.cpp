#include "target.h"
#include "vernier/data/formats/safetensors.h"

VERNIER_FUZZ_TARGET([](auto bytes, auto) { vernier::SafetensorsFile(bytes, nullptr).read_all(); })
