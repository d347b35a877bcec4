#include "target.h"
#include "vernier/onnx/import.h"

VERNIER_FUZZ_TARGET([](auto bytes, auto) { vernier::import_model(bytes, "/nonexistent"); })
