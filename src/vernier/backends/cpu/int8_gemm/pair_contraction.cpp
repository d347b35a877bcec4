#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"

#include <algorithm>

#include "vernier/backends/cpu/gemm/contraction_kernel.h"
#include "vernier/backends/cpu/int8_gemm/pair_lines.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/base/hash.h"

namespace vernier::cpu {

namespace {

// Rows that are upcast at a time stay in a second cache, and their sums in a first.
constexpr int64_t kRowBytes = 128 * 1024, kFewestRows = 12, kMostPairRows = 96;
using PairSums = std::array<int32_t, kMostPairRows * kPairColumns>;

int64_t rows_at_a_time(int64_t stride) {
  const int64_t rows = kRowBytes / (2 * stride) / kFewestRows * kFewestRows;
  return std::clamp(rows, kFewestRows, kMostPairRows);
}

int64_t stride_of(int64_t depth) {
  return 2 * pairs_of(depth);
}

size_t buffer_bytes(int64_t depth) {
  return static_cast<size_t>(rows_at_a_time(stride_of(depth)) * stride_of(depth) + kPairSlack) *
         sizeof(int16_t);
}

class PairContraction : public ContractionKernel {
 public:
  PairContraction(const PairRows& rows, const PairWindows& windows, PairWeights order,
                  std::shared_ptr<const PackedForm> weights, std::unique_ptr<const BlockEpilogue> epilogue)
      : ContractionKernel(rows.input, std::move(weights), std::move(epilogue)),
        rows_(rows),
        windows_(windows),
        order_(std::move(order)),
        blocks_((order_.columns + kPairColumns - 1) / kPairColumns),
        stride_(stride_of(order_.depth())) {
    name = "cpu:int16_pairs";
    const auto all = static_cast<double>(windows_.rows() * order_.columns * order_.groups);
    const double packed_elements = static_cast<double>(order_.columns * order_.groups * order_.depth());
    const int64_t threads =
        threads_for(2 * all * static_cast<double>(order_.depth()), packed_elements * sizeof(int16_t));
    // By rows, or by columns where there are more of them.
    if (windows_.rows() < threads * kFewestRows && order_.groups * blocks_ >= threads)
      by_columns_ = threads;
    else
      by_rows_ = std::min(threads, windows_.rows());
    partition_scratch(buffer_bytes(order_.depth()), by_rows_ * by_columns_);
  }

  bool reads(size_t input) const override {
    return ContractionKernel::reads(input) || static_cast<int>(input) == rows_.zero_input;
  }

  void run(const KernelArguments& arguments) const override {
    const PairRange rows{0, windows_.rows()}, blocks{0, order_.groups * blocks_};
    const Int8Source source = rows_.source(arguments, windows_.bytes());
    parallel(by_rows_ * by_columns_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition)
        run_partition(arguments, source, rows.part(partition / by_columns_, by_rows_),
                      blocks.part(partition % by_columns_, by_columns_),
                      reinterpret_cast<int16_t*>(scratch_of(arguments, partition)));
    });
  }

 private:
  void run_partition(const KernelArguments& arguments, const Int8Source& source, const PairRange& rows,
                     const PairRange& blocks, int16_t* buffer) const {
    const int64_t most = rows_at_a_time(stride_), parts = (rows.size() + most - 1) / most;
    for (int64_t part = 0; part < parts; ++part) {
      const PairRange some = rows.part(part, parts);
      for (int64_t block = blocks.begin, held = -1; block < blocks.end; ++block) {
        const int64_t group = block / blocks_;
        if (group != held)
          gather_windows(windows_, source, group * order_.channels, some.begin, some.size(), stride_, buffer);
        held = group;
        multiply(arguments, some, group, block % blocks_ * kPairColumns, buffer);
      }
    }
  }

  // With up to 32 columns of a group.
  void multiply(const KernelArguments& arguments, const PairRange& rows, int64_t group, int64_t first,
                const int16_t* x) const {
    alignas(64) PairSums sums;
    const auto* weights =
        reinterpret_cast<const int16_t*>(weights_->content().data()) + group * order_.group_size();
    const int64_t column = group * order_.columns + first,
                  columns = std::min(kPairColumns, order_.columns - first);
    multiply_pairs({&x, 1, stride_, rows.size(), stride_ / 2, weights + first * stride_,
                    static_cast<const int32_t*>(epilogue_->initial(column)), columns, sums.data()});
    epilogue_->finish(arguments, {sums.data(), kPairColumns, rows.begin, column, rows.size(), columns});
  }

  PairRows rows_;
  PairWindows windows_;
  PairWeights order_;
  int64_t blocks_, stride_;  // of the columns of a group; of rows
  int64_t by_rows_ = 1, by_columns_ = 1;
};

class PairBatchesKernel : public Kernel {
 public:
  PairBatchesKernel(PairBatches work, std::unique_ptr<const BlockEpilogue> epilogue)
      : work_(std::move(work)), epilogue_(std::move(epilogue)), stride_(stride_of(work_.matrices.depth)) {
    name = "cpu:int16_pairs:batches";
    in_place = epilogue_->in_place();
    if (in_place == work_.a.input || in_place == work_.b.input) in_place = -1;  // which are read again
    const Matrices& m = work_.matrices;
    const auto matrices = static_cast<int64_t>(m.a.size());
    const double sums = static_cast<double>(matrices) * static_cast<double>(m.rows * m.columns);
    threads_ = threads_for(2 * sums * static_cast<double>(m.depth));
    row_partitions_ = matrices >= threads_ ? 1 : std::min<int64_t>(threads_, m.rows);
    constexpr size_t kPage = 4096;
    packed_bytes_ =
        (static_cast<size_t>(pair_panels_size(m.depth, m.columns)) * sizeof(int16_t) + kPage) / kPage * kPage;
    partition_bytes_ = (packed_bytes_ + buffer_bytes(m.depth) + kPage) / kPage * kPage;
    scratch_bytes = partition_bytes_ * static_cast<size_t>(threads_);
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == work_.a.input || index == work_.b.input || epilogue_->reads(index);
  }

  void run(const KernelArguments& arguments) const override {
    const Matrices& m = work_.matrices;
    const int64_t items = static_cast<int64_t>(m.a.size()) * row_partitions_;
    parallel(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition)
        run_partition(arguments, PairRange{0, items}.part(partition, threads_),
                      arguments.scratch + static_cast<size_t>(partition) * partition_bytes_);
    });
  }

 private:
  // Each item is some rows of a product.
  void run_partition(const KernelArguments& arguments, const PairRange& items, std::byte* scratch) const {
    const Matrices& m = work_.matrices;
    auto* panels = reinterpret_cast<int16_t*>(scratch);
    std::optional<int64_t> packed;
    for (int64_t item = items.begin; item < items.end; ++item) {
      const auto matrix = static_cast<size_t>(item / row_partitions_);
      if (packed != m.b[matrix]) {
        Int8Source b = work_.b.source(arguments, (m.b[matrix] + 1) * m.depth * m.columns);
        b.from += m.b[matrix] * m.depth * m.columns;
        pack_pairs(b, m.depth, m.columns, work_.transposed, panels);
      }
      packed = m.b[matrix];
      multiply(arguments, item / row_partitions_,
               PairRange{0, m.rows}.part(item % row_partitions_, row_partitions_), panels,
               reinterpret_cast<int16_t*>(scratch + packed_bytes_));
    }
  }

  void multiply(const KernelArguments& arguments, int64_t matrix, const PairRange& rows,
                const int16_t* panels, int16_t* buffer) const {
    const Matrices& m = work_.matrices;
    const int64_t first = m.a[static_cast<size_t>(matrix)] * m.rows;
    const Int8Source a = work_.a.source(arguments, (first + m.rows) * m.depth);
    const auto all = PairWindows::of_matrix(first + m.rows, m.depth);
    const int64_t most = rows_at_a_time(stride_), parts = (rows.size() + most - 1) / most;
    alignas(64) PairSums sums;
    const int16_t* x = buffer;
    for (int64_t part = 0; part < parts; ++part) {
      const PairRange some = rows.part(part, parts);
      gather_windows(all, a, 0, first + some.begin, some.size(), stride_, buffer);
      for (int64_t column = 0; column < m.columns; column += kPairColumns) {
        const int64_t columns = std::min(kPairColumns, m.columns - column);
        multiply_pairs({&x, 1, stride_, some.size(), stride_ / 2, panels + column * stride_,
                        static_cast<const int32_t*>(epilogue_->initial(column)), columns, sums.data()});
        epilogue_->finish(arguments, {sums.data(), kPairColumns, matrix * m.rows + some.begin, column,
                                      some.size(), columns});
      }
    }
  }

  PairBatches work_;
  std::unique_ptr<const BlockEpilogue> epilogue_;
  int64_t stride_, threads_ = 1, row_partitions_ = 1;
  size_t packed_bytes_ = 0, partition_bytes_ = 0;
};

// Panel by panel, as pack_pairs() has them.
void pack_weights(const Tensor& weights, const PairWeights& order, std::byte* memory) {
  auto* to = reinterpret_cast<int16_t*>(memory);
  const int64_t segment_depth = order.segment_depth(), segment_size = stride_of(segment_depth);
  const auto weight = [&](int64_t group, int64_t column, int64_t place) -> int16_t {
    if (column >= order.columns || place % segment_size >= segment_depth) return 0;
    const int64_t k = place / segment_size * segment_depth + place % segment_size;
    return static_cast<int16_t>(order.weight(weights, group, column, k));
  };
  const int64_t columns = order.group_size() / (2 * order.pairs());
  for (int64_t group = 0; group < order.groups; ++group) {
    for (int64_t panel = 0; panel < columns; panel += kPanelColumns) {
      for (int64_t k = 0; k < 2 * order.pairs(); k += 2) {
        for (int64_t column = panel; column < panel + kPanelColumns; ++column) {
          *to++ = weight(group, column, k);
          *to++ = weight(group, column, k + 1);
        }
      }
    }
  }
}

}  // namespace

PairWeights PairWeights::of_matrix(int64_t depth, int64_t columns, bool transposed) {
  PairWeights order;
  order.columns = columns;
  order.channels = depth;
  order.column_stride = transposed ? depth : 1;
  order.channel_stride = transposed ? 1 : columns;
  return order;
}

PairWeights PairWeights::of_convolution(const ops::Convolution& convolution) {
  PairWeights order;
  order.groups = convolution.groups;
  order.columns = convolution.out_channels;
  order.channels = convolution.in_channels;
  order.taps = ops::tap_count(convolution.axes);
  order.tap_stride = 1;
  order.channel_stride = order.taps;
  order.column_stride = order.taps * order.channels;
  order.group_stride = order.column_stride * order.columns;
  const auto windows = PairWindows::of_convolution(convolution);
  order.in_lines = suits_lines(windows);
  if (order.in_lines) order.segments = windows.axes[0].kernel * windows.axes[1].kernel;
  return order;
}

int32_t PairWeights::weight(const Tensor& weights, int64_t group, int64_t column, int64_t k) const {
  const int64_t at = group * group_stride + column * column_stride + k % channels * channel_stride +
                     k / channels * tap_stride;
  const uint8_t byte = static_cast<const uint8_t*>(weights.raw())[at];
  const size_t own = static_cast<size_t>(group * columns + column);
  const int32_t zero = zero_points.empty() ? 0 : zero_points.at(zero_points.size() == 1 ? 0 : own);
  return (weights.type() == ElementType::kInt8 ? static_cast<int8_t>(byte) : byte) - zero;
}

std::string PairWeights::form(std::string_view kind) const {
  return fmt::format("{} {} {} {} {} {}: {} {} {} {} - {}", kind, groups, columns, channels, taps, segments,
                     group_stride, column_stride, channel_stride, tap_stride,
                     hash_to_text(hash_bytes(zero_points.data(), zero_points.size() * sizeof(int32_t))));
}

Int8Source PairRows::source(const KernelArguments& arguments, int64_t bytes) const {
  const auto* from = static_cast<const uint8_t*>(arguments.inputs[input]);
  const int32_t zero =
      zero_input < 0 ? zero_point : *static_cast<const int32_t*>(arguments.inputs[zero_input]);
  return {from, from + bytes, is_signed, zero};
}

std::shared_ptr<const PackedForm> pack_pair_weights(const KernelRequest& request, const Tensor& weights,
                                                    const PairWeights& order) {
  const auto bytes = static_cast<size_t>(order.groups * order.group_size()) * sizeof(int16_t);
  return request.pack(weights, order.form("int16-pairs"), bytes,
                      [weights, order](std::byte* to) { pack_weights(weights, order, to); });
}

std::unique_ptr<Kernel> make_pair_contraction(const PairRows& rows, const PairWindows& windows,
                                              const PairWeights& order,
                                              std::shared_ptr<const PackedForm> weights,
                                              std::unique_ptr<const BlockEpilogue> epilogue,
                                              const NumericsContract& contract) {
  std::unique_ptr<Kernel> kernel;
  if (order.in_lines)
    kernel = make_pair_lines(rows, windows, order, std::move(weights), std::move(epilogue));
  else
    kernel = std::make_unique<PairContraction>(rows, windows, order, std::move(weights), std::move(epilogue));
  kernel->contract = contract;
  return kernel;
}

std::unique_ptr<Kernel> make_pair_batches(PairBatches work, std::unique_ptr<const BlockEpilogue> epilogue,
                                          const NumericsContract& contract) {
  auto kernel = std::make_unique<PairBatchesKernel>(std::move(work), std::move(epilogue));
  kernel->contract = contract;
  return kernel;
}

}  // namespace vernier::cpu
