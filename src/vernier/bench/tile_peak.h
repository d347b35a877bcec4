// What the processor's tiles (AMX) do where nothing holds them up.
#pragma once

#include <optional>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Operations a second of all threads, of operands in the nearest caches: random ones, since zeros take less
// power and so make the clock faster. Nothing for types that tiles do not multiply, and without tiles.
std::optional<double> tile_flops(ElementType type);

}  // namespace vernier
