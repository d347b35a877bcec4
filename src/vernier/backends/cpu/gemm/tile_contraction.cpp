#include "vernier/backends/cpu/gemm/tile_contraction.h"

#include "vernier/backends/cpu/gemm/contraction_kernel.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/shared/quantized.h"

namespace vernier::cpu {

namespace {

const char* tactic_of(const TileFormat& format) {
  if (format.numbers != TileNumbers::kBFloat16) return kInt8Tiles;
  return format.terms == 1 ? kOneTerm : format.terms == 2 ? kTwoTerms : kThreeTerms;
}

ElementType element_of(const TileFormat& format) {
  switch (format.numbers) {
    case TileNumbers::kUint8: return ElementType::kUint8;
    case TileNumbers::kInt8: return ElementType::kInt8;
    default: return format.source == sizeof(float) ? ElementType::kFloat : ElementType::kBFloat16;
  }
}

// How the work is shared by threads: each takes a range of lines of all images, and a range of the blocks of
// columns. Every thread splits the lines of its own, so that none waits for another.
struct Partitions {
  int64_t by_lines = 1, by_columns = 1;
  int64_t count() const { return by_lines * by_columns; }
};

// How much longer the longest partition is than the average.
double imbalance(int64_t items, int64_t partitions) {
  const int64_t longest = (items + partitions - 1) / partitions;
  return static_cast<double>(longest * partitions) / static_cast<double>(items);
}

// The time of both ways, as products of the tiles of one step: 64 cycles each, 32 rows by 32 columns. Threads
// that share columns read rows that others wrote, and leave the next kernel results that others computed;
// those of lines are mostly where the thread had them before.
Partitions choose_partitions(const TileImage& image, const WeightOrder& order, int threads) {
  constexpr double kRead = 7;       // what a step reads from beyond the caches, for each term
  constexpr double kBringIn = 1.1;  // rows into tiles, against multiplying them with 32 columns
  const TileFormat& format = image.format();
  const int64_t lines = image.images() * image.lines(), positions = lines * image.line();
  const int64_t blocks = (positions + kBlockRows - 1) / kBlockRows;
  const double terms = format.terms, products = terms * (terms + 1) / 2;
  const double rows = static_cast<double>(blocks) * products, taps = static_cast<double>(order.taps),
               columns = static_cast<double>(order.column_blocks());
  const double bring_in = rows * kBringIn / taps;
  // Lines of one pixel are dealt out in whole blocks. All threads read all weights, or each its columns'.
  const double of_lines = imbalance(image.line() == 1 ? blocks : lines, threads) / threads,
               of_columns = imbalance(order.column_blocks(), threads) / threads;
  const double by_lines = columns * std::max(rows * of_lines, kRead * terms) + bring_in * of_lines;
  const double by_columns = columns * of_columns * std::max(rows, kRead * terms) + bring_in;
  // A block of 32 numbers of 32 rows, from one core to another.
  const double move = kRead * static_cast<double>(blocks * format.source) / 2 * (1 - 1.0 / threads);
  const double row_moves = static_cast<double>(format.row_depth) / kBlockColumns / taps,
               result_moves = columns / (static_cast<double>(order.chunks(format)) * taps);
  return by_lines <= by_columns + move * (row_moves + result_moves) ? Partitions{threads, 1}
                                                                    : Partitions{1, threads};
}

class TileContraction : public ContractionKernel {
 public:
  TileContraction(const TileWork& work, std::shared_ptr<const PackedForm> weights,
                  std::unique_ptr<const BlockEpilogue> epilogue)
      : ContractionKernel(work.input, std::move(weights), std::move(epilogue)),
        image_(work.image),
        order_(work.order),
        partitions_(choose_partitions(image_, order_, threads_for(work.flops))) {
    name = fmt::format("cpu:tiles:{}", tactic_of(image_.format()));
    partition_scratch(static_cast<size_t>(image_.block_elements()) * sizeof(uint16_t), partitions_.count());
  }

  void run(const KernelArguments& arguments) const override {
    parallel(partitions_.count(), 1, [&](int64_t first, int64_t last) {
      const TileScope tiles;
      for (int64_t partition = first; partition < last; ++partition) run_partition(arguments, partition);
    });
  }

 private:
  class Sink : public SumsSink {
   public:
    Sink(const BlockEpilogue& epilogue, const KernelArguments& arguments)
        : epilogue_(epilogue), arguments_(arguments) {}
    void take(const AccumulatorBlock& sums) const override { epilogue_.finish(arguments_, sums); }
    const void* initial(int64_t column) const override { return epilogue_.initial(column); }

   private:
    const BlockEpilogue& epilogue_;
    const KernelArguments& arguments_;
  };

  void run_partition(const KernelArguments& arguments, int64_t partition) const {
    auto* tiles = reinterpret_cast<uint16_t*>(scratch_of(arguments, partition));
    const auto* weights = reinterpret_cast<const uint16_t*>(weights_->content().data());
    const int64_t unit = image_.line() == 1 ? kBlockRows : 1, lines = image_.images() * image_.lines();
    const int64_t units = (lines + unit - 1) / unit, blocks = order_.column_blocks();
    const int64_t index = partition / partitions_.by_columns, part = partition % partitions_.by_columns;
    const Sink sink(*epilogue_, arguments);
    TileWalk(image_, order_, weights, tiles, sink)
        .run(arguments.inputs[input_],
             {units * index / partitions_.by_lines * unit,
              std::min(lines, units * (index + 1) / partitions_.by_lines * unit),
              blocks * part / partitions_.by_columns, blocks * (part + 1) / partitions_.by_columns});
  }

  TileImage image_;
  WeightOrder order_;
  Partitions partitions_;
};

}  // namespace

std::optional<TileFormat> tile_format(const KernelRequest& request, ElementType element) {
  if (!has_bf16_tiles()) return std::nullopt;
  for (const TileFormat& format :
       {kBFloat16Tiles, kTwoTermTiles, kThreeTermTiles, kUnsignedTiles, kSignedTiles}) {
    if (request.tactic == tactic_of(format) && element == element_of(format)) return format;
  }
  return std::nullopt;
}

void split_operands(const TileFormat& format, NumericsContract& contract) {
  if (format.terms == 1) return;  // they are numbers of tiles already
  contract.operands = ElementType::kBFloat16;
  contract.terms = format.terms;
}

std::vector<std::string> tile_tactics(ElementType element, int64_t rows, const WeightOrder& order) {
  // Products of fewer rows than a tile has are bound by reading the weights. They are offered down to a
  // quarter of them all the same: other sizes of a profile may hold the weights in the form of tiles already.
  constexpr int64_t kLeastRows = kTileRows / 4, kLeastChannels = 8;
  if (!has_bf16_tiles() || rows < kLeastRows || order.channels < kLeastChannels ||
      order.columns < kLeastChannels)
    return {};
  if (element == ElementType::kBFloat16) return {kOneTerm};
  if (element == ElementType::kFloat) return {kTwoTerms, kThreeTerms};
  if (is_8bit(element) && order.channels * order.taps <= kMostBytes) return {kInt8Tiles};
  return {};
}

std::unique_ptr<Kernel> make_tile_kernel(const TileWork& work, std::shared_ptr<const PackedForm> weights,
                                         std::unique_ptr<const BlockEpilogue> epilogue,
                                         const NumericsContract& contract) {
  auto kernel = std::make_unique<TileContraction>(work, std::move(weights), std::move(epilogue));
  kernel->contract = contract;
  return kernel;
}

std::unique_ptr<Kernel> make_tile_contraction(const KernelRequest& request, const Fused& fused,
                                              const TileWork& work, size_t columns_axis,
                                              std::string& reason) {
  auto end = make_float_epilogue(request, fused, work.bias, columns_axis, reason);
  if (!end) return nullptr;
  // Operands that this kernel put in order are packed for it alone: engine files keep only packed whole
  // constants.
  const KernelRequest own{request.node, {}, {}};
  auto weights = work.own_weights
                     ? pack_tiles(own, *work.own_weights, work.order, work.image.format())
                     : pack_tiles(request, *request.in(static_cast<size_t>(work.weights)).constant,
                                  work.order, work.image.format());
  split_operands(work.image.format(), end->contract);
  return make_tile_kernel(work, std::move(weights), std::move(end->epilogue), end->contract);
}

}  // namespace vernier::cpu
