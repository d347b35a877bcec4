#include "vernier/backends/cpu/gemm/packed_tiles.h"

#include <array>
#include <cstring>

#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

namespace {

constexpr size_t kMostDepth = 64;  // of a row of a tile

// The two tiles of each term of one step; T is float or, for one term, uint16_t or int8_t.
template <class T>
void fill_step(const T* weights, const WeightOrder& order, int64_t first_column, int64_t first_channel,
               const TileFormat& format, uint16_t* to) {
  const int64_t columns = std::min(kBlockColumns, order.columns - first_column),
                channels = std::min(format.row_depth, order.channels - first_channel);
  std::array<T, kMostDepth> depth{};
  std::array<uint16_t, 3 * kChunk> split{};
  std::fill_n(to, format.terms * 2 * kTileSize, uint16_t{0});
  for (int64_t column = 0; column < columns; ++column) {
    const T* from =
        weights + (first_column + column) * order.column_stride + first_channel * order.channel_stride;
    for (int64_t i = 0; i < channels; ++i) depth[static_cast<size_t>(i)] = from[i * order.channel_stride];
    split_pixels({depth.data(), format.row_depth, 1, format.row_depth, split.data(), 0, kChunk, format});
    // Neighbours of the depth are pairs, of int8 fours, which lie column by column.
    constexpr int64_t kPairs = kChunk / 2, kPairBytes = 2 * sizeof(uint16_t);
    for (int64_t term = 0; term < format.terms; ++term) {
      const uint16_t* pair = split.data() + term * kChunk;
      uint16_t* at = to + (term * 2 + column / kTileRows) * kTileSize + column % kTileRows * 2;
      for (int64_t i = 0; i < kPairs; ++i) std::memcpy(at + i * kTileRows * 2, pair + i * 2, kPairBytes);
    }
  }
}

template <class T>
void fill_all(const T* weights, const WeightOrder& order, const TileFormat& format, uint16_t* to) {
  const int64_t steps = order.steps(format);
  for (int64_t step = 0; step < order.column_blocks() * steps; ++step) {
    const int64_t block = step / steps, chunk = step % steps / order.taps, tap = step % steps % order.taps;
    fill_step(weights + tap * order.tap_stride, order, block * kBlockColumns, chunk * format.row_depth,
              format, to + step * format.terms * 2 * kTileSize);
  }
}

}  // namespace

int64_t WeightOrder::column_blocks() const {
  return (columns + kBlockColumns - 1) / kBlockColumns;
}

int64_t WeightOrder::chunks(const TileFormat& format) const {
  return (channels + format.row_depth - 1) / format.row_depth;
}

int64_t WeightOrder::block_size(const TileFormat& format) const {
  return steps(format) * format.terms * 2 * kTileSize;
}

std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, const TileFormat& format) {
  auto fill = [weights, order, format](std::byte* memory) {
    auto* to = reinterpret_cast<uint16_t*>(memory);
    if (format.source == sizeof(float))
      fill_all(static_cast<const float*>(weights.raw()), order, format, to);
    else if (format.source == sizeof(uint16_t))
      fill_all(static_cast<const uint16_t*>(weights.raw()), order, format, to);
    else
      fill_all(static_cast<const int8_t*>(weights.raw()), order, format, to);
  };
  const auto form =
      fmt::format("tiles by chunk {} {} {} {} {} {} {}", format.terms, order.columns, order.channels,
                  order.taps, order.column_stride, order.channel_stride, order.tap_stride);
  const auto bytes = static_cast<size_t>(order.column_blocks() * order.block_size(format)) * sizeof(uint16_t);
  return request.pack(weights, form, bytes, std::move(fill));
}

WeightOrder order_of(const ops::Convolution& convolution) {
  int64_t taps = 1;
  for (const auto& axis : convolution.axes) taps *= axis.kernel;
  return {convolution.out_channels, convolution.in_channels, taps, convolution.in_channels * taps, taps, 1};
}

WeightOrder order_of_matrix(int64_t channels, int64_t columns, bool transposed) {
  return {columns, channels, 1, transposed ? channels : 1, transposed ? 1 : columns, 0};
}

std::vector<int64_t> column_sums(const Tensor& weights, const WeightOrder& order) {
  std::vector<int64_t> sums;
  for (int64_t column = 0; column < order.columns; ++column) {
    const auto* from = static_cast<const int8_t*>(weights.raw()) + column * order.column_stride;
    int64_t sum = 0;
    for (int64_t channel = 0; channel < order.channels; ++channel) {
      for (int64_t tap = 0; tap < order.taps; ++tap)
        sum += from[channel * order.channel_stride + tap * order.tap_stride];
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace vernier::cpu
