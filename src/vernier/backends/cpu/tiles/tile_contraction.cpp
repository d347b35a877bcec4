#include "vernier/backends/cpu/tiles/tile_contraction.h"

#include <array>

#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/tiles/tile_block.h"

namespace vernier::cpu {

namespace {

// How the work is shared by threads: each takes a range of lines of all images, and a range of the blocks of
// columns. Every thread splits the lines of its own, so that none waits for another.
struct Shares {
  int64_t by_lines = 1, by_columns = 1;
  int64_t count() const { return by_lines * by_columns; }
};

// How much longer the longest share is than the average.
double imbalance(int64_t items, int64_t shares) {
  const int64_t longest = (items + shares - 1) / shares;
  return static_cast<double>(longest * shares) / static_cast<double>(items);
}

Shares choose_shares(const TileImage& image, const WeightOrder& order, int threads) {
  const int64_t lines = image.images() * image.lines();
  // Splitting the same lines again for other columns costs, against multiplying them with 32 columns:
  constexpr double kSplitCost = 1.1;
  const double columns = static_cast<double>(order.column_blocks() * order.taps) / threads;
  const double by_columns = imbalance(order.column_blocks(), threads) * (1 + kSplitCost / columns);
  // Lines of one pixel are dealt out in whole blocks.
  const int64_t items = image.line() == 1 ? (lines + kBlockRows - 1) / kBlockRows : lines;
  const double by_lines = imbalance(items, threads);
  return by_lines <= by_columns ? Shares{threads, 1} : Shares{1, threads};
}

class TileContraction : public Kernel {
 public:
  TileContraction(TileWork work, std::shared_ptr<const PackedForm> weights, const Tensor* bias,
                  std::vector<RowPost> posts, int threads)
      : image_(std::move(work.image)),
        order_(work.order),
        input_(work.input),
        weights_input_(work.weights),
        weights_(std::move(weights)),
        posts_(std::move(posts)),
        shares_(choose_shares(image_, order_, threads)) {
    const bool exact = image_.pieces() == 3;
    name = fmt::format("cpu:tiles:{}", exact ? kThreePieces : kTwoPieces);
    contract = float_contract(ElementType::kFloat);
    contract.approximate = !exact || is_approximate(posts_);
    start_.resize(static_cast<size_t>(order_.column_blocks() * kBlockColumns));
    if (bias != nullptr) std::copy_n(static_cast<const float*>(bias->raw()), order_.columns, start_.begin());
    for (const RowPost& each : posts_) {
      if (each.operand == RowPost::Operand::kRows) in_place = each.post.operand;
    }
    share_bytes_ = (static_cast<size_t>(image_.block_elements()) * sizeof(uint16_t) + 4095) / 4096 * 4096;
    scratch_bytes = share_bytes_ * static_cast<size_t>(shares_.count());
  }

  void run(const KernelArguments& arguments) const override {
    parallel(shares_.count(), 1, [&](int64_t first, int64_t last) {
      const TileScope tiles;
      for (int64_t share = first; share < last; ++share) run_share(arguments, share);
    });
  }

  void prepare() const override { weights_->content(); }
  bool is_prepared() const override { return weights_->is_made(); }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == input_ || (index != weights_input_ && reads_in_epilogue(index));
  }

 private:
  // Output lines [line, line + lines) of an image in pieces.
  struct Block {
    const uint16_t* pieces;
    int64_t image, line, lines;
  };
  using Sums = std::array<float, kBlockRows * kBlockColumns>;

  bool reads_in_epilogue(int index) const {
    return std::any_of(posts_.begin(), posts_.end(),
                       [&](const RowPost& each) { return each.post.operand == index; });
  }

  void run_share(const KernelArguments& arguments, int64_t share) const {
    auto* pieces = reinterpret_cast<uint16_t*>(arguments.scratch + share_bytes_ * static_cast<size_t>(share));
    const int64_t unit = image_.line() == 1 ? kBlockRows : 1, lines = image_.images() * image_.lines();
    const int64_t units = (lines + unit - 1) / unit;
    const int64_t index = share / shares_.by_columns, part = share % shares_.by_columns;
    const int64_t end = std::min(lines, units * (index + 1) / shares_.by_lines * unit);
    const int64_t first_columns = order_.column_blocks() * part / shares_.by_columns,
                  last_columns = order_.column_blocks() * (part + 1) / shares_.by_columns;
    for (int64_t line = units * index / shares_.by_lines * unit; line < end;) {
      const int64_t image = line / image_.lines(), first = line % image_.lines();
      const int64_t count = std::min({end - line, image_.lines() - first, image_.block_lines()});
      image_.fill(static_cast<const float*>(arguments.inputs[input_]), image, first, count, pieces);
      for (int64_t columns = first_columns; columns < last_columns; ++columns)
        run_columns(arguments, {pieces, image, first, count}, columns);
      line += count;
    }
  }

  void run_columns(const KernelArguments& arguments, const Block& block, int64_t columns) const {
    alignas(64) Sums sums;
    const auto* weights = reinterpret_cast<const uint16_t*>(weights_->content().data()) +
                          columns * order_.block_size(image_.pieces());
    const int64_t width = std::min(kBlockColumns, order_.columns - columns * kBlockColumns);
    const int64_t positions = block.lines * image_.line();
    for (int64_t row = 0; row < positions; row += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, positions - row);
      multiply_block(
          {image_.pieces(), rows > kTileRows, width > kTileRows},
          {block.pieces + row * kChunk, image_.steps().data(), static_cast<int64_t>(image_.steps().size()),
           image_.piece(), weights, start_.data() + columns * kBlockColumns, sums.data()});
      finish_outputs(arguments, block, row, rows, columns, width, sums.data());
    }
  }

  // Of positions [row, row + rows) those that outputs belong to, line by line.
  void finish_outputs(const KernelArguments& arguments, const Block& block, int64_t row, int64_t rows,
                      int64_t columns, int64_t width, float* sums) const {
    const int64_t outputs = image_.line_outputs(), line = image_.line();
    const int64_t first_line = block.image * image_.lines() + block.line;
    if (line == outputs) {
      finish(arguments, first_line * outputs + row, {sums, kBlockColumns, nullptr, 0, rows, width}, columns);
      return;
    }
    for (int64_t at = 0; at < rows;) {
      const int64_t position = row + at, x = position % line;
      const int64_t count = std::min(rows - at, (x < outputs ? outputs : line) - x);
      if (x < outputs)
        finish(arguments, (first_line + position / line) * outputs + x,
               {sums + at * kBlockColumns, kBlockColumns, nullptr, 0, count, width}, columns);
      at += count;
    }
  }

  // Sums to outputs from `pixel` on.
  void finish(const KernelArguments& arguments, int64_t pixel, Rows rows, int64_t columns) const {
    const int64_t first_column = columns * kBlockColumns, offset = pixel * order_.columns + first_column;
    auto* sums = const_cast<float*>(rows.from);
    auto* y = static_cast<float*>(arguments.outputs[0]) + offset;
    for (const RowPost& each : posts_) {
      const bool all = each.operand == RowPost::Operand::kRows, last = &each == &posts_.back();
      const float* operand = nullptr;
      if (each.post.operand >= 0) operand = static_cast<const float*>(arguments.inputs[each.post.operand]);
      if (all) operand += offset;
      if (each.operand == RowPost::Operand::kRow) operand += first_column;
      rows.to = last ? y : sums;
      rows.to_stride = last ? order_.columns : kBlockColumns;
      apply_post(each, rows, operand, all ? order_.columns : 0);
    }
    if (!posts_.empty()) return;
    for (int64_t r = 0; r < rows.count; ++r)
      std::copy_n(rows.from + r * kBlockColumns, rows.columns, y + r * order_.columns);
  }

  TileImage image_;
  WeightOrder order_;
  int input_, weights_input_;
  std::shared_ptr<const PackedForm> weights_;
  std::vector<RowPost> posts_;
  Shares shares_;
  std::vector<float> start_;
  size_t share_bytes_ = 0;
};

}  // namespace

std::optional<int> pieces_of(const KernelRequest& request) {
  if (!has_bf16_tiles()) return std::nullopt;
  if (request.tactic == kTwoPieces) return 2;
  if (request.tactic == kThreePieces) return 3;
  return std::nullopt;
}

std::vector<std::string> tile_tactics(int64_t rows, const WeightOrder& order) {
  // Fewer rows than a tile has are bound by reading the weights.
  constexpr int64_t kLeastChannels = 8;
  if (!has_bf16_tiles() || rows < kTileRows || order.channels < kLeastChannels ||
      order.columns < kLeastChannels)
    return {};
  return {kTwoPieces, kThreePieces};
}

std::unique_ptr<Kernel> make_tile_contraction(const KernelRequest& request, const Fused& fused, TileWork work,
                                              size_t columns_axis, std::string& reason) {
  auto posts = row_posts(fused, request, columns_axis);
  if (!posts) {
    reason = "tiles cannot finish this epilogue row by row";
    return nullptr;
  }
  const Tensor* bias =
      work.bias >= 0 ? request.in(static_cast<size_t>(work.bias)).constant : take_row_bias(*posts, request);
  const int threads = threads_for(work.flops);
  auto weights = pack_tiles(request, *request.in(static_cast<size_t>(work.weights)).constant, work.order,
                            work.image.pieces());
  return std::make_unique<TileContraction>(std::move(work), std::move(weights), bias, std::move(*posts),
                                           threads);
}

}  // namespace vernier::cpu
