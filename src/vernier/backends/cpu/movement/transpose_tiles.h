// The transposition of a matrix in memory, by vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

// Element (r, c), of `width` bytes (1, 2, 4, 8 or 16), goes from `from + r * from_step + c * width` to
// `to + c * to_step + r * width`; steps are in bytes.
void transpose_tiles(size_t width, const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                     int64_t rows, int64_t columns);

}  // namespace vernier::cpu
