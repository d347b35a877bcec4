// By how many blocks a program is run: pure arithmetic of sizes.
#pragma once

#include "vernier/backends/cuda/device/cuda_stream.h"

namespace vernier::cuda {

inline constexpr int64_t kSharedMemory = 48000;  // bytes of it that every program may have
inline constexpr unsigned kThreads = 256;        // of a block, unless a program wants others

// A thread for each of so many items, in a walk by all threads of the grid: programs whose threads go on by
// the number of threads serve any number of items.
Grid grid_over(int64_t items);
// A block for each of so many items, of as many threads as suit so much work.
Grid grid_of_blocks(int64_t blocks, int64_t work);

// As many elements as a thread can load at a time, of `count` that lie behind each other: up to 16 bytes.
int64_t pack_width(int64_t count, ElementType element);
// The type in which a program counts so many items, so that it divides quickly where it can.
inline std::string_view index_type(int64_t items) {
  return items <= INT32_MAX / 2 ? "u32" : "i64";
}

// The sides of the tiles, 64, 32 or 16, that a product of `rows` x `columns`, `count` times, is made by: as
// large as they can be while there are blocks for all of a large GPU.
int64_t tile_of(int64_t rows, int64_t columns, int64_t count);
inline int64_t tiles_of(int64_t size, int64_t tile) {
  return (size + tile - 1) / tile;
}

}  // namespace vernier::cuda
