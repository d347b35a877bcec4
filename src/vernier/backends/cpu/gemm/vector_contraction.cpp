#include "vernier/backends/cpu/gemm/vector_contraction.h"

#include <algorithm>
#include <array>

#include "vernier/backends/cpu/gemm/contraction_kernel.h"
#include "vernier/backends/cpu/onednn/packed_form.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// Rows that are read again for each 32 columns: half of a second cache.
constexpr int64_t kGroupBytes = 512 * 1024;
constexpr int64_t kMostSums = 96;  // rows of them: a quarter of a first cache

// How the work is partitioned over threads: by rows, or by columns if there are more weights than rows.
struct Partitions {
  int64_t by_rows = 1, by_columns = 1;
};

Partitions choose_partitions(const VectorWork& work) {
  const WeightOrder& order = work.order;
  const double weights = static_cast<double>(order.columns) * static_cast<double>(order.channels);
  const int64_t threads = threads_for(2 * static_cast<double>(work.rows) * weights,
                                      weights * static_cast<double>(element_size(work.element)));
  if (order.columns > work.rows && order.column_blocks() >= threads) return {1, threads};
  return {std::min(threads, work.rows), 1};
}

// Where part `index` of `count` about equal ones begins.
int64_t part_begin(int64_t index, int64_t count, int64_t all) {
  return all * index / count;
}

class VectorContraction : public ContractionKernel {
 public:
  VectorContraction(const VectorWork& work, std::shared_ptr<const PackedForm> weights,
                    std::unique_ptr<const BlockEpilogue> epilogue)
      : ContractionKernel(work.input, std::move(weights), std::move(epilogue)),
        work_(work),
        row_bytes_(work.order.channels * static_cast<int64_t>(element_size(work.element))),
        partitions_(choose_partitions(work)) {
    name = "cpu:vectors";
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t blocks = work_.order.column_blocks();
    parallel(partitions_.by_rows * partitions_.by_columns, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition) {
        const int64_t row = partition / partitions_.by_columns, column = partition % partitions_.by_columns;
        run_partition(arguments,
                      {part_begin(row, partitions_.by_rows, work_.rows),
                       part_begin(row + 1, partitions_.by_rows, work_.rows)},
                      {part_begin(column, partitions_.by_columns, blocks),
                       part_begin(column + 1, partitions_.by_columns, blocks)});
      }
    });
  }

 private:
  struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };

  void run_partition(const KernelArguments& arguments, const Range& rows, const Range& blocks) const {
    const int64_t most = std::max(kMostSums, kGroupBytes / row_bytes_);
    const int64_t groups = (rows.size() + most - 1) / most;
    for (int64_t group = 0; group < groups; ++group) {
      const Range some{rows.begin + part_begin(group, groups, rows.size()),
                       rows.begin + part_begin(group + 1, groups, rows.size())};
      for (int64_t block = blocks.begin; block < blocks.end; ++block) multiply(arguments, some, block);
    }
  }

  // With 32 columns.
  void multiply(const KernelArguments& arguments, const Range& rows, int64_t block) const {
    const auto* x = static_cast<const std::byte*>(arguments.inputs[input_]);
    const std::byte* weights = weights_->content().data() + block * row_bytes_ * kVectorColumns;
    const int64_t column = block * kVectorColumns,
                  columns = std::min(kVectorColumns, work_.order.columns - column);
    const int64_t parts = (rows.size() + kMostSums - 1) / kMostSums;
    alignas(64) std::array<float, kMostSums * kVectorColumns> sums;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t row = rows.begin + part_begin(part, parts, rows.size()),
                    count = rows.begin + part_begin(part + 1, parts, rows.size()) - row;
      VectorProduct product{x + row * row_bytes_,         row_bytes_, count,
                            row_bytes_ / kVnniGroupBytes, weights,    sums.data(),
                            epilogue_->initial(column),   part == 0};
      product.columns = columns;
      const AccumulatorBlock block{sums.data(), kVectorColumns, row, column, count, columns};
      const auto early = epilogue_->early(arguments, block);
      const bool ends = early && end_early(*early, product);
      multiply_vectors(work_.element, product);
      if (!ends) epilogue_->finish(arguments, block);
    }
  }

  // Whether the product can end so.
  bool end_early(const EarlyEpilogue& early, VectorProduct& product) const {
    if (const auto* bytes = std::get_if<Int8Epilogue>(&early)) {
      if (product.columns <= kVectorColumns / 2) return false;
      product.bytes = bytes;
      return true;
    }
    const auto& floats = std::get<RegisterEpilogue>(early);
    if (floats.element != work_.element) return false;
    product.initial = floats.initial;
    product.output = &floats.output;
    return true;
  }

  VectorWork work_;
  int64_t row_bytes_;
  Partitions partitions_;
};

// Packs weights of T as [VNNI groups, 32 columns, VNNI group]; columns beyond the last are 0.
template <class T>
void pack(const Tensor& weights, const WeightOrder& order, std::byte* memory) {
  constexpr int64_t kVnniGroup = kVnniGroupBytes / static_cast<int64_t>(sizeof(T));
  const auto* from = static_cast<const T*>(weights.raw());
  auto* to = reinterpret_cast<T*>(memory);
  for (int64_t block = 0; block < order.column_blocks(); ++block) {
    for (int64_t channel = 0; channel < order.channels; channel += kVnniGroup) {
      for (int64_t column = block * kVectorColumns; column < (block + 1) * kVectorColumns; ++column) {
        for (int64_t i = 0; i < kVnniGroup; ++i, ++to)
          *to = column < order.columns
                    ? from[column * order.column_stride + (channel + i) * order.channel_stride]
                    : T{};
      }
    }
  }
}

}  // namespace

bool has_pixels_as_rows(const ops::Convolution& convolution) {
  return convolution.groups == 1 &&
         std::all_of(convolution.axes.begin(), convolution.axes.end(), [](const ops::WindowAxis& axis) {
           return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
         });
}

bool fits_vectors(const VectorWork& work) {
  const auto row_bytes = work.order.channels * static_cast<int64_t>(element_size(work.element));
  return has_vector_blocks() && work.order.taps == 1 && row_bytes > 0 && row_bytes % kVnniGroupBytes == 0 &&
         work.order.columns >= kVectorColumns / 2;
}

std::optional<VectorWork> vector_work(const ConstantConvolution& convolution) {
  const ops::Convolution& shape = convolution.shape;
  int64_t rows = shape.batch;
  for (const ops::WindowAxis& axis : shape.axes) rows *= axis.output;
  const VectorWork work{convolution.element, rows, order_of(shape), convolution.input, convolution.weights,
                        convolution.bias};
  return convolution.element != ElementType::kFloat16 && has_pixels_as_rows(shape) && fits_vectors(work)
             ? std::optional(work)
             : std::nullopt;
}

std::shared_ptr<const PackedForm> pack_vectors(const KernelRequest& request, const Tensor& weights,
                                               const WeightOrder& order) {
  const size_t element = element_size(weights.type());
  const int64_t group = kVnniGroupBytes / static_cast<int64_t>(element),
                padded = order.column_blocks() * kVectorColumns;
  const auto bytes = static_cast<size_t>(padded * order.channels) * element;
  const auto form = packed_form({weights.type(),
                                 {order.columns, order.channels},
                                 {order.column_stride, order.channel_stride},
                                 {padded, order.channels},
                                 {order.channels * kVectorColumns, group * kVectorColumns},
                                 {kVectorColumns, group},
                                 {0, 1},
                                 bytes});
  return request.pack(weights, form, bytes, [weights, order, element](std::byte* to) {
    if (element == sizeof(float))
      pack<float>(weights, order, to);
    else if (element == sizeof(uint16_t))
      pack<uint16_t>(weights, order, to);
    else
      pack<int8_t>(weights, order, to);
  });
}

std::unique_ptr<Kernel> make_vector_kernel(const VectorWork& work, std::shared_ptr<const PackedForm> weights,
                                           std::unique_ptr<const BlockEpilogue> epilogue,
                                           const NumericsContract& contract) {
  auto kernel = std::make_unique<VectorContraction>(work, std::move(weights), std::move(epilogue));
  kernel->contract = contract;
  return kernel;
}

std::unique_ptr<Kernel> make_vector_contraction(const KernelRequest& request, const Fused& fused,
                                                const VectorWork& work, size_t columns_axis,
                                                std::string& reason) {
  auto end = make_float_epilogue(request, fused, work.bias, columns_axis, reason);
  if (!end) return nullptr;
  const Tensor& weights = *request.in(static_cast<size_t>(work.weights)).constant;
  return make_vector_kernel(work, pack_vectors(request, weights, work.order), std::move(end->epilogue),
                            end->contract);
}

}  // namespace vernier::cpu
