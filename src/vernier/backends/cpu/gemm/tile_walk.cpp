#include "vernier/backends/cpu/gemm/tile_walk.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kUnit = sizeof(uint16_t), kTileRowBytes = kChunk * kUnit,
                  kSumsRow = kBlockColumns * sizeof(float), kLineBytes = 64;

}  // namespace

TileWalk::TileWalk(const TileImage& image, const WeightOrder& order, const uint16_t* weights,
                   uint16_t* scratch, const SumsSink& sink)
    : image_(image),
      order_(order),
      weights_(weights),
      scratch_(scratch),
      sink_(sink),
      column_group_(std::max<int64_t>(1, kLineBytes / (kBlockColumns * image.format().source))),
      column_size_(order.block_size(image.format())) {}

void TileWalk::run(const void* input, const TilePartition& partition) {
  constexpr int64_t kAll = int64_t{1} << 40;
  const auto rows = row_group(partition);
  const int64_t group = rows.value_or(kAll);
  is_grouped_ = rows.has_value();
  for (int64_t line = partition.first_line; line < partition.last_line;) {
    const int64_t image = line / image_.lines(), first = line % image_.lines();
    const int64_t count =
        std::min({partition.last_line - line, image_.lines() - first, image_.block_lines()});
    const Block block = block_of(input, image, first, count);
    for (int64_t row = 0; row < positions_of(block); row += group) {
      for (int64_t column = partition.first_columns; column < partition.last_columns; column += column_group_)
        run_columns(block, row, std::min(row + group, positions_of(block)), column,
                    std::min(column + column_group_, partition.last_columns));
    }
    line += count;
  }
  if (!before_) return;
  store_block(sums_.data());
  before_->run(0, before_->rows());
  before_.reset();
}

// Brings into tiles what cannot be read where it lies.
TileWalk::Block TileWalk::block_of(const void* input, int64_t image, int64_t line, int64_t lines) const {
  Block block{image, line, lines, nullptr, 0};
  if (image_.is_direct()) {
    block.in_place = static_cast<const uint16_t*>(input) + line * image_.direct_row_bytes() / kUnit;
    block.direct = lines / kBlockRows * kBlockRows;
  }
  if (block.direct < lines) image_.fill(input, image, line + block.direct, lines - block.direct, scratch_);
  return block;
}

// So many rows are multiplied with all columns before the next: matrices with many columns are read from the
// first cache, not from the second again and again.
std::optional<int64_t> TileWalk::row_group(const TilePartition& partition) const {
  constexpr int64_t kGroupBytes = 16 * 1024, kFewColumns = 2;
  const int64_t row_bytes = order_.chunks(image_.format()) * image_.format().terms * kTileRowBytes;
  const int64_t rows = kGroupBytes / row_bytes / kBlockRows * kBlockRows;
  const bool pays =
      order_.taps == 1 && rows > 0 && partition.last_columns - partition.first_columns > kFewColumns;
  return pays ? std::optional(rows) : std::nullopt;
}

void TileWalk::run_columns(const Block& block, int64_t first, int64_t last, int64_t first_columns,
                           int64_t last_columns) {
  for (int64_t row = first; row < last; row += kBlockRows) {
    for (int64_t columns = first_columns; columns < last_columns; ++columns) {
      const Part part(*this, block, row, std::min(kBlockRows, last - row), columns * kBlockColumns);
      multiply(part);
      before_ = part;
    }
  }
}

// The weights of the next columns are fetched, a part with each of the blocks of rows: processors do not look
// beyond the end of a page.
void TileWalk::multiply(const Part& part) {
  const bool direct = part.row_ < part.block_.direct;
  BlockProduct product{};
  product.row_bytes = direct ? image_.direct_row_bytes() : image_.position_bytes();
  product.rows = direct ? part.block_.in_place + part.row_ * product.row_bytes / kUnit
                        : scratch_ + (part.row_ - part.block_.direct) * product.row_bytes / kUnit;
  product.steps = direct ? image_.direct_steps().data() : image_.steps().data();
  product.step_count = static_cast<int64_t>(image_.steps().size());
  product.term = image_.term();
  product.weights = weights_ + part.column_ / kBlockColumns * column_size_;
  product.sums = nullptr;
  product.initial = sink_.initial(part.column_);
  product.before = before_ ? sums_.data() : nullptr;
  if (!is_grouped_ && part.column_ + column_group_ * kBlockColumns < order_.columns) {
    const int64_t lines = column_size_ / kChunk, index = part.row_ / kBlockRows,
                  blocks = positions_of(part.block_) / kBlockRows + 1;
    product.later = product.weights + column_group_ * column_size_ + lines * index / blocks * kChunk;
    product.later_lines = lines * (index + 1) / blocks - lines * index / blocks;
  }
  const BlockShape shape{image_.format().terms, part.rows() > kTileRows,
                         columns_from(part.column_) > kTileRows, image_.format().numbers};
  before_ ? multiply_block(shape, product, *before_) : multiply_block(shape, product);
}

// Walks the positions that outputs belong to, line by line.
void TileWalk::Part::run(int64_t first, int64_t count) {
  const TileImage& image = walk_->image_;
  const int64_t outputs = image.line_outputs(), line = image.line(), width = walk_->columns_from(column_);
  const int64_t first_line = block_.image * image.lines() + block_.line;
  const auto take = [&](int64_t at, int64_t output, int64_t rows) {
    walk_->sink_.take({walk_->sums_.data() + at * kSumsRow, kBlockColumns, first_line * outputs + output,
                       column_, rows, width});
  };
  if (line == outputs) return take(first, row_ + first, count);
  for (int64_t at = first; at < first + count;) {
    const int64_t y = (row_ + at) / line, x = (row_ + at) % line;
    const int64_t rows = std::min(first + count - at, (x < outputs ? outputs : line) - x);
    if (x < outputs) take(at, y * outputs + x, rows);
    at += rows;
  }
}

}  // namespace vernier::cpu
