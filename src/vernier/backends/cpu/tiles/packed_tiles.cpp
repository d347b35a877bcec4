#include "vernier/backends/cpu/tiles/packed_tiles.h"

#include <array>
#include <cstring>

#include "vernier/backends/cpu/tiles/pieces.h"
#include "vernier/backends/cpu/tiles/tile_block.h"

namespace vernier::cpu {

namespace {

// The two tiles of each piece of one step.
void fill_step(const float* weights, const WeightOrder& order, int64_t first_column, int64_t first_channel,
               int pieces, uint16_t* to) {
  const int64_t columns = std::min(kBlockColumns, order.columns - first_column),
                channels = std::min(kChunk, order.channels - first_channel);
  std::array<float, kChunk> depth{};
  std::array<uint16_t, 3 * kChunk> split{};
  std::fill_n(to, pieces * 2 * kTileSize, uint16_t{0});
  for (int64_t column = 0; column < columns; ++column) {
    const float* from =
        weights + (first_column + column) * order.column_stride + first_channel * order.channel_stride;
    for (int64_t i = 0; i < channels; ++i) depth[static_cast<size_t>(i)] = from[i * order.channel_stride];
    split_pixels({depth.data(), kChunk, 1, kChunk, split.data(), 0, kChunk, pieces});
    // Neighbours of the depth are pairs, which lie column by column.
    constexpr int64_t kPairs = kChunk / 2, kPairBytes = 2 * sizeof(uint16_t);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const uint16_t* pair = split.data() + piece * kChunk;
      uint16_t* at = to + (piece * 2 + column / kTileRows) * kTileSize + column % kTileRows * 2;
      for (int64_t i = 0; i < kPairs; ++i) std::memcpy(at + i * kTileRows * 2, pair + i * 2, kPairBytes);
    }
  }
}

}  // namespace

int64_t WeightOrder::column_blocks() const {
  return (columns + kBlockColumns - 1) / kBlockColumns;
}

int64_t WeightOrder::chunks() const {
  return (channels + kChunk - 1) / kChunk;
}

int64_t WeightOrder::block_size(int pieces) const {
  return steps() * pieces * 2 * kTileSize;
}

std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, int pieces) {
  auto fill = [weights, order, pieces](std::byte* memory) {
    auto* to = reinterpret_cast<uint16_t*>(memory);
    const auto* from = static_cast<const float*>(weights.raw());
    for (int64_t step = 0; step < order.column_blocks() * order.steps(); ++step) {
      const int64_t block = step / order.steps(), tap = step % order.steps() / order.chunks(),
                    chunk = step % order.chunks();
      fill_step(from + tap * order.tap_stride, order, block * kBlockColumns, chunk * kChunk, pieces,
                to + step * pieces * 2 * kTileSize);
    }
  };
  const auto form = fmt::format("tiles {} {} {} {} {} {} {}", pieces, order.columns, order.channels,
                                order.taps, order.column_stride, order.channel_stride, order.tap_stride);
  const auto bytes = static_cast<size_t>(order.column_blocks() * order.block_size(pieces)) * sizeof(uint16_t);
  return request.pack(weights, form, bytes, std::move(fill));
}

}  // namespace vernier::cpu
