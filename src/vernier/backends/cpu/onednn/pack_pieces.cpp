#include "vernier/backends/cpu/onednn/pack_pieces.h"

#include "vernier/backends/cpu/onednn/blocks.h"
#include "vernier/backends/cpu/onednn/split_bf16.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kResults = 3;  // of split_rows

// One inner block: pairs along the depth, for each of `width` columns, for each of `depth / 2` pairs.
struct Tile {
  int64_t depth, width;
  int64_t depth_stride, width_stride;  // of the source
};

// The places of a tile in source and target, for all indices of one axis.
struct Steps {
  int64_t count, source, target;
};

class Packer {
 public:
  Packer(const Tile& tile, std::span<const int64_t> pieces, int64_t piece_stride, std::byte* to)
      : tile_(tile),
        pieces_(pieces),
        piece_stride_(piece_stride),
        to_(reinterpret_cast<uint16_t*>(to)),
        floats_(static_cast<size_t>(tile.depth * tile.width)),
        split_(floats_.size() * kResults) {}

  // All tiles from here on, the last axis in the innermost loop.
  void pack(std::span<const Steps> axes, const float* source, int64_t target) {
    if (axes.empty()) return pack_tile(source, target);
    for (int64_t i = 0; i < axes[0].count; ++i)
      pack(axes.subspan(1), source + i * axes[0].source, target + i * axes[0].target);
  }

 private:
  void pack_tile(const float* source, int64_t target) {
    gather(source);
    const auto size = static_cast<int64_t>(floats_.size());
    split_rows(floats_.data(), split_.data(), 1, size);
    for (size_t part = 0; part < pieces_.size(); ++part)
      interleave(split_.data() + pieces_[part] * size,
                 to_ + target + static_cast<int64_t>(part) * piece_stride_);
  }

  void gather(const float* source) {
    for (int64_t n = 0; n < tile_.width; ++n) {
      const float* column = source + n * tile_.width_stride;
      float* to = floats_.data() + n;
      for (int64_t k = 0; k < tile_.depth; ++k) to[k * tile_.width] = column[k * tile_.depth_stride];
    }
  }

  void interleave(const uint16_t* rows, uint16_t* to) const {
    for (int64_t k = 0; k < tile_.depth; k += 2, rows += 2 * tile_.width, to += 2 * tile_.width) {
      for (int64_t n = 0; n < tile_.width; ++n) {
        to[2 * n] = rows[n];
        to[2 * n + 1] = rows[tile_.width + n];
      }
    }
  }

  Tile tile_;
  std::span<const int64_t> pieces_;
  int64_t piece_stride_;
  uint16_t* to_;
  std::vector<float> floats_;
  std::vector<uint16_t> split_;
};

}  // namespace

bool pack_pieces(const float* from, const dnnl::memory::desc& as_is, int axis,
                 const dnnl::memory::desc& wanted, std::span<const int64_t> pieces, std::byte* to) {
  const Blocks source = blocks_of(as_is), target = blocks_of(wanted);
  const auto &sizes = target.inner_sizes, &axes = target.inner_axes;
  if (!source.elements || !source.inner_sizes.empty() || !target.elements || sizes.size() != 3 ||
      sizes[2] != 2 || axes[0] != axis || axes[2] != axis || axes[1] == axis ||
      target.padded != dims_of(wanted))
    return false;
  const auto depth = static_cast<size_t>(axis), width = static_cast<size_t>(axes[1]);
  const Tile tile{sizes[0] * 2, sizes[1], source.strides[depth], source.strides[width]};
  const auto counts = dims_of(as_is);
  if (counts[depth] % tile.depth != 0 || counts[width] % tile.width != 0) return false;
  const int64_t blocks = counts[depth] / tile.depth;
  // What a block of columns by a block of depth reads stays in the cache while the other axes go by.
  std::vector<Steps> steps{
      {counts[width] / tile.width, source.strides[width] * tile.width, target.strides[width]},
      {blocks, source.strides[depth] * tile.depth, target.strides[depth]}};
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i != depth && i != width) steps.push_back({counts[i], source.strides[i], target.strides[i]});
  }
  Packer(tile, pieces, blocks * target.strides[depth], to).pack(steps, from, 0);
  return true;
}

}  // namespace vernier::cpu
