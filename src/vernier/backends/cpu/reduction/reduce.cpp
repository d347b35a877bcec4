// The Reduce operators: floats in blocks through vectors, integers and doubles one by one.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/reduction/column_fold.h"
#include "vernier/backends/cpu/reduction/reduction_walk.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 14;

// Names the function that follows the fold.
enum class Finish : uint8_t { kNone, kMean, kRoot, kLogarithm, kShiftedLogarithm };

struct Reduction {
  Fold fold;
  Finish finish = Finish::kNone;
};

Reduction reduction_of(const std::string& op) {
  if (op == "ReduceMean") return {Fold::kSum, Finish::kMean};
  if (op == "ReduceMax") return {Fold::kMax};
  if (op == "ReduceMin") return {Fold::kMin};
  if (op == "ReduceProd") return {Fold::kProduct};
  if (op == "ReduceL1") return {Fold::kAbsolute};
  if (op == "ReduceL2") return {Fold::kSquare, Finish::kRoot};
  if (op == "ReduceSumSquare") return {Fold::kSquare};
  if (op == "ReduceLogSum") return {Fold::kSum, Finish::kLogarithm};
  if (op == "ReduceLogSumExp") return {Fold::kExp, Finish::kShiftedLogarithm};
  return {Fold::kSum};
}

class FloatReduce : public Kernel {
 public:
  FloatReduce(const KernelRequest& request, ReductionWalk walk)
      : walk_(std::move(walk)), element_(request.in(0).element), reduction_(reduction_of(request.node.op)) {
    name = "cpu:reduce";
    contract = float_contract(element_);
    contract.approximate = reduction_.fold == Fold::kExp;
    if (is_tall())
      scratch_bytes = static_cast<size_t>(chunks() * walk_.runs() * walk_.columns) * sizeof(double);
  }

  void run(const KernelArguments& arguments) const override {
    if (is_tall()) return run_tall(arguments);
    if (has_short_rows()) return run_short_rows(arguments);
    const int64_t tiles = (walk_.columns + kTileColumns - 1) / kTileColumns;
    const int64_t work = std::max<int64_t>(1, walk_.elements() * std::min(walk_.columns, kTileColumns));
    parallel(walk_.runs() * tiles, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        reduce_tile(arguments, task / tiles, task % tiles * kTileColumns);
    });
  }

 private:
  using Tile = std::array<double, kTileColumns>;
  static constexpr int64_t kChunkRows = 256;
  using Floats = std::array<float, kTileColumns>;

  // Tells whether few results, which would leave threads idle and read memory with gaps, come from many rows.
  bool is_tall() const {
    constexpr int64_t kFewColumns = 2048;
    return !walk_.is_row() && walk_.parts() == 1 && reduction_.fold != Fold::kExp &&
           walk_.runs() * walk_.columns <= kFewColumns && walk_.rows >= 2 * kChunkRows;
  }
  int64_t chunks() const { return (walk_.rows + kChunkRows - 1) / kChunkRows; }

  // Chunks of rows by themselves, whatever the number of threads, then these in their order.
  void run_tall(const KernelArguments& arguments) const {
    auto* partial = reinterpret_cast<double*>(arguments.scratch);
    const Floats none{};
    parallel(chunks() * walk_.runs(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t run = task / chunks(), row = task % chunks() * kChunkRows;
        const int64_t start = ReductionWalk::offset(walk_.kept, run) + row * walk_.stride;
        double* to = partial + task * walk_.columns;
        std::fill_n(to, walk_.columns, static_cast<double>(identity_of(reduction_.fold)));
        for (int64_t column = 0; column < walk_.columns; column += kTileColumns)
          fold_tile({element_, arguments.inputs[0], walk_.stride}, reduction_.fold, start + column,
                    std::min(kChunkRows, walk_.rows - row), std::min(kTileColumns, walk_.columns - column),
                    none.data(), to + column);
      }
    });
    for (int64_t run = 0; run < walk_.runs(); ++run) {
      double* sums = partial + run * chunks() * walk_.columns;
      for (int64_t chunk = 1; chunk < chunks(); ++chunk) {
        for (int64_t i = 0; i < walk_.columns; ++i)
          sums[i] = joined(reduction_.fold, sums[i], sums[chunk * walk_.columns + i]);
      }
      for (int64_t i = 0; i < walk_.columns; ++i) sums[i] = finished(sums[i], 0);
      store(arguments, run * walk_.columns, sums, walk_.columns);
    }
  }

  // Each result is of elements side by side, of no more than a block.
  bool has_short_rows() const {
    return walk_.is_row() && walk_.parts() == 1 && walk_.rows <= kFoldBlock && reduction_.fold != Fold::kExp;
  }

  void run_short_rows(const KernelArguments& arguments) const {
    const int64_t runs = walk_.runs(), tiles = (runs + kTileColumns - 1) / kTileColumns;
    const int64_t work = std::max<int64_t>(1, walk_.rows * kTileColumns);
    parallel(tiles, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
      Tile results;
      for (int64_t first = begin * kTileColumns; first < std::min(end * kTileColumns, runs);
           first += kTileColumns) {
        const int64_t count = std::min(kTileColumns, runs - first);
        for (int64_t i = 0; i < count; ++i) {
          double result = static_cast<double>(identity_of(reduction_.fold));
          fold_row_block(reduction_.fold, arguments.inputs[0], ReductionWalk::offset(walk_.kept, first + i),
                         walk_.rows, 0, result);
          results[static_cast<size_t>(i)] = finished(result, 0);
        }
        store(arguments, first, results.data(), count);
      }
    });
  }

  void store(const KernelArguments& arguments, int64_t first, const double* values, int64_t count) const {
    Floats stored;
    for (int64_t at = 0; at < count; at += kTileColumns) {
      const int64_t columns = std::min(kTileColumns, count - at);
      for (int64_t i = 0; i < columns; ++i)
        stored[static_cast<size_t>(i)] = static_cast<float>(values[at + i]);
      std::copy_n(stored.data(), columns,
                  float_target(element_, arguments.outputs[0], first + at, stored.data()));
      store_floats(element_, stored.data(), columns, arguments.outputs[0], first + at);
    }
  }

  void reduce_tile(const KernelArguments& arguments, int64_t run, int64_t column) const {
    const int64_t columns = std::min(kTileColumns, walk_.columns - column);
    const int64_t start = ReductionWalk::offset(walk_.kept, run) + column;
    const void* x = arguments.inputs[0];
    Floats shift{};
    Tile result;
    if (reduction_.fold == Fold::kExp) {
      fold(Fold::kMax, x, start, columns, shift, result);
      // Infinities stay out of the differences: the sum of ones and nothing else is 1, or inf.
      for (int64_t i = 0; i < columns; ++i) shift[i] = static_cast<float>(result[i]);
    }
    fold(reduction_.fold, x, start, columns, shift, result);
    for (int64_t i = 0; i < columns; ++i) result[i] = finished(result[i], shift[i]);
    store(arguments, run * walk_.columns + column, result.data(), columns);
  }

  double finished(double value, float shift) const {
    switch (reduction_.finish) {
      case Finish::kMean: return value / static_cast<double>(walk_.elements());
      case Finish::kRoot: return std::sqrt(value);
      case Finish::kLogarithm: return std::log(value);
      case Finish::kShiftedLogarithm:
        return std::isfinite(shift) ? static_cast<double>(shift) + std::log(value)
                                    : static_cast<double>(shift);
      default: return value;
    }
  }

  // In blocks that are joined in double.
  void fold(Fold kind, const void* x, int64_t start, int64_t columns, const Floats& shift,
            Tile& result) const {
    std::fill_n(result.begin(), columns, static_cast<double>(identity_of(kind)));
    for (int64_t part = 0; part < walk_.parts(); ++part) {
      const int64_t at = start + ReductionWalk::offset(walk_.reduced, part);
      if (!walk_.is_row()) {
        fold_tile({element_, x, walk_.stride}, kind, at, walk_.rows, columns, shift.data(), result.data());
        continue;
      }
      for (int64_t first = 0; first < walk_.rows; first += kFoldBlock)
        fold_row_block(kind, x, at + first, std::min(kFoldBlock, walk_.rows - first), shift[0], result[0]);
    }
  }

  void fold_row_block(Fold kind, const void* x, int64_t at, int64_t count, float shift,
                      double& result) const {
    alignas(64) std::array<float, kFoldBlock> buffer;
    const float* values = load_floats(element_, x, at, count, buffer.data());
    result = joined(kind, result, static_cast<double>(fold_row(kind, values, count, shift)));
  }

  ReductionWalk walk_;
  ElementType element_;
  Reduction reduction_;
};

// Axes as they lie in memory.
std::vector<bool> physical_axes(const std::vector<bool>& logical, Layout layout) {
  if (layout != Layout::kChannelsLast) return logical;
  std::vector<bool> result{logical[0]};
  result.insert(result.end(), logical.begin() + 2, logical.end());
  result.push_back(logical[1]);
  return result;
}

std::optional<std::vector<int64_t>> axes_of(const KernelRequest& request) {
  if (!ops::axes_are_input(request.node)) return request.node.attribute<std::vector<int64_t>>("axes", {});
  if (!request.has(1)) return std::vector<int64_t>{};
  if (request.in(1).constant == nullptr) return std::nullopt;
  return request.in(1).constant->to_ints();
}

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const auto axes = axes_of(request);
  if (!axes || x.layout == Layout::kBlocked16) {
    reason = axes ? "no reduction of channels in blocks" : "the axes are known only when it runs";
    return nullptr;
  }
  const auto reduced = ops::reduced_axes(request.node, *axes, x.dims.size());
  auto walk = ReductionWalk::of(x.memory_dims(), physical_axes(reduced, x.layout));
  if (is_float_storage(x.element)) return std::make_unique<FloatReduce>(request, std::move(walk));
  return make_wide_reduce(request, std::move(walk), reason);
}

}  // namespace

void register_reduce(KernelRegistry& registry) {
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"})
    registry.add({"", fmt::format("Reduce{}", op), LayoutRule::kFollow, Priority::kOwn, make_reduce});
}

}  // namespace vernier::cpu
