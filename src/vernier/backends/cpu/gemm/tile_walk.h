// The walk over the blocks of rows and columns of a contraction. Each block stays in the tiles until the next
// one begins, and is finished while they multiply that.
#pragma once

#include <array>
#include <optional>

#include "vernier/backends/cpu/convolution/tile_image.h"
#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/gemm/packed_tiles.h"

namespace vernier::cpu {

// Brings sums to the output.
class SumsSink {
 public:
  virtual ~SumsSink() = default;
  virtual void take(const AccumulatorBlock& sums) const = 0;
  // The initial accumulators of columns from this one on, 32 of the accumulators' type; null: 0.
  virtual const void* initial(int64_t column) const = 0;
};

// Lines of all images, and blocks of 32 columns.
struct TilePartition {
  int64_t first_line, last_line, first_columns, last_columns;
};

class TileWalk {
 public:
  // `weights` are packed; `scratch` holds image.block_elements().
  TileWalk(const TileImage& image, const WeightOrder& order, const uint16_t* weights, uint16_t* scratch,
           const SumsSink& sink);

  void run(const void* input, const TilePartition& partition);

 private:
  // Output lines [line, line + lines) of an image: their positions up to `direct` are read where they lie,
  // those behind from rows of tiles.
  struct Block {
    int64_t image, line, lines;
    const uint16_t* in_place;
    int64_t direct;
  };
  // The sums of up to 32 positions of a block, and of up to 32 columns.
  class Part : public RowWork {
   public:
    Part(TileWalk& walk, const Block& block, int64_t row, int64_t rows, int64_t column)
        : RowWork(rows), walk_(&walk), block_(block), row_(row), column_(column) {}
    void run(int64_t first, int64_t count) override;

   private:
    friend class TileWalk;
    TileWalk* walk_;
    Block block_;
    int64_t row_, column_;
  };

  Block block_of(const void* input, int64_t image, int64_t line, int64_t lines) const;
  std::optional<int64_t> row_group(const TilePartition& partition) const;
  int64_t positions_of(const Block& block) const { return block.lines * image_.line(); }
  void run_columns(const Block& block, int64_t first, int64_t last, int64_t first_columns,
                   int64_t last_columns);
  void multiply(const Part& part);
  int64_t columns_from(int64_t column) const { return std::min(kBlockColumns, order_.columns - column); }

  const TileImage& image_;
  const WeightOrder& order_;
  const uint16_t* weights_;
  uint16_t* scratch_;
  const SumsSink& sink_;
  int64_t column_group_;  // blocks that fill lines of the output have their turn together
  int64_t column_size_;   // 16-bit elements of the weights of a block of columns
  alignas(64) std::array<std::byte, kBlockRows * kBlockColumns * sizeof(float)> sums_;  // of before_
  bool is_grouped_ = false;
  std::optional<Part> before_;  // not yet finished
};

}  // namespace vernier::cpu
