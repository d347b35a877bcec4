#include "vernier/backends/cpu/tiles/packed_tiles.h"

#include <array>
#include <cstring>

#include "vernier/backends/cpu/tiles/pieces.h"
#include "vernier/backends/cpu/tiles/tile_block.h"

namespace vernier::cpu {

namespace {

// The two tiles of each piece of one step; T is float or, for one piece, uint16_t.
template <class T>
void fill_step(const T* weights, const WeightOrder& order, int64_t first_column, int64_t first_channel,
               const TileFormat& format, uint16_t* to) {
  const int64_t columns = std::min(kBlockColumns, order.columns - first_column),
                channels = std::min(kChunk, order.channels - first_channel);
  std::array<T, kChunk> depth{};
  std::array<uint16_t, 3 * kChunk> split{};
  std::fill_n(to, format.pieces * 2 * kTileSize, uint16_t{0});
  for (int64_t column = 0; column < columns; ++column) {
    const T* from =
        weights + (first_column + column) * order.column_stride + first_channel * order.channel_stride;
    for (int64_t i = 0; i < channels; ++i) depth[static_cast<size_t>(i)] = from[i * order.channel_stride];
    split_pixels({depth.data(), kChunk, 1, kChunk, split.data(), 0, kChunk, format});
    // Neighbours of the depth are pairs, which lie column by column.
    constexpr int64_t kPairs = kChunk / 2, kPairBytes = 2 * sizeof(uint16_t);
    for (int64_t piece = 0; piece < format.pieces; ++piece) {
      const uint16_t* pair = split.data() + piece * kChunk;
      uint16_t* at = to + (piece * 2 + column / kTileRows) * kTileSize + column % kTileRows * 2;
      for (int64_t i = 0; i < kPairs; ++i) std::memcpy(at + i * kTileRows * 2, pair + i * 2, kPairBytes);
    }
  }
}

template <class T>
void fill_all(const T* weights, const WeightOrder& order, const TileFormat& format, uint16_t* to) {
  for (int64_t step = 0; step < order.column_blocks() * order.steps(); ++step) {
    const int64_t block = step / order.steps(), tap = step % order.steps() / order.chunks(),
                  chunk = step % order.chunks();
    fill_step(weights + tap * order.tap_stride, order, block * kBlockColumns, chunk * kChunk, format,
              to + step * format.pieces * 2 * kTileSize);
  }
}

}  // namespace

int64_t WeightOrder::column_blocks() const {
  return (columns + kBlockColumns - 1) / kBlockColumns;
}

int64_t WeightOrder::chunks() const {
  return (channels + kChunk - 1) / kChunk;
}

int64_t WeightOrder::block_size(const TileFormat& format) const {
  return steps() * format.pieces * 2 * kTileSize;
}

std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, const TileFormat& format) {
  auto fill = [weights, order, format](std::byte* memory) {
    auto* to = reinterpret_cast<uint16_t*>(memory);
    if (format.source == sizeof(float))
      fill_all(static_cast<const float*>(weights.raw()), order, format, to);
    else
      fill_all(static_cast<const uint16_t*>(weights.raw()), order, format, to);
  };
  const auto form = fmt::format("tiles {} {} {} {} {} {} {}", format.pieces, order.columns, order.channels,
                                order.taps, order.column_stride, order.channel_stride, order.tap_stride);
  const auto bytes = static_cast<size_t>(order.column_blocks() * order.block_size(format)) * sizeof(uint16_t);
  return request.pack(weights, form, bytes, std::move(fill));
}

}  // namespace vernier::cpu
