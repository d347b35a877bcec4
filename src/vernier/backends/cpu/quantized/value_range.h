#pragma once

#include <cstdint>

namespace vernier::cpu {

// Moves `low` and `high` as far as the values reach beyond them; NaN reaches nowhere.
void extend_range(const float* x, int64_t count, float& low, float& high);

}  // namespace vernier::cpu
