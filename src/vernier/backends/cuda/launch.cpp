#include "vernier/backends/cuda/launch.h"

#include <algorithm>
#include <bit>

#include "vernier/base/error.h"

namespace vernier::cuda {

namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 20, kLastBlock = INT32_MAX;

}  // namespace

Grid grid_over(int64_t items) {
  const int64_t blocks = (items + kThreads - 1) / kThreads;
  return {static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, kMostBlocks)), 1, 1, kThreads};
}

Grid grid_of_blocks(int64_t blocks, int64_t work) {
  constexpr uint64_t kWarp = 32;
  if (blocks > kLastBlock) throw unsupported("{} blocks are more than a GPU takes at a time", blocks);
  const uint64_t threads = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, work)));
  return {static_cast<unsigned>(std::max<int64_t>(1, blocks)), 1, 1,
          static_cast<unsigned>(std::clamp<uint64_t>(threads, kWarp, kThreads))};
}

int64_t pack_width(int64_t count, ElementType element) {
  constexpr size_t kBytes = 16;
  auto width = static_cast<int64_t>(kBytes / element_size(element));
  while (count % width != 0) width /= 2;
  return width;
}

int64_t tile_of(int64_t rows, int64_t columns, int64_t count) {
  constexpr int64_t kEnoughBlocks = 256, kSmallest = 16;
  int64_t tile = 64;
  while (tile > kSmallest && tiles_of(rows, tile) * tiles_of(columns, tile) * count < kEnoughBlocks)
    tile /= 2;
  return tile;
}

}  // namespace vernier::cuda
