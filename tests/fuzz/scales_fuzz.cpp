#include "target.h"
#include "vernier/precision/calibration_file.h"

VERNIER_FUZZ_TARGET([](auto, auto text) { vernier::parse_ranges_file(text); })
