// Products of matrices of int8 that are all known only when they run, such as attention's, as blocks in
// registers: groups of DequantizeLinear, MatMul and QuantizeLinear, and QLinearMatMul, of one scale and zero
// point for each operand.
#include <array>

#include "vernier/backends/cpu/epilogue/integer_epilogue.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/int8_gemm/vnni_groups.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/integer_matmul_kernel.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// Sums stay within 31 bits, zero points taken off: 255 * 255 * 32768 < 2^31. On the way there they may wrap.
constexpr int64_t kMostDepth = 32768;
constexpr int32_t kShift = 128;    // between signed and uint8
constexpr int64_t kMostSums = 96;  // rows of them: a quarter of a first cache

struct Int8Batches {
  QuantizedProduct product;
  Matrices matrices;
  // How blocks take a, as uint8, and b, as signed ones.
  int32_t a_zero, b_zero;
  bool a_signed, b_signed;

  int64_t column_blocks() const { return (matrices.columns + kVectorColumns - 1) / kVectorColumns; }
  int64_t groups_bytes() const { return column_blocks() * kVectorColumns * matrices.depth; }
};

std::optional<Int8Batches> batches_of(const KernelRequest& request, std::string& reason) {
  auto product = parse_quantized(request, reason);
  if (!product) return std::nullopt;
  const Operand &a = request.in(product->a), &b = request.in(product->b), &y = request.out();
  reason = "no two matrices of int8, of whole VNNI groups, that are not known";
  if (!product->anchor->op.ends_with("MatMul") || b.constant != nullptr || product->a == product->b ||
      !is_8bit(a.element) || !is_8bit(b.element) || a.rank() < 2 || b.rank() < 2 || a.size() == 0 ||
      y.size() == 0 || product->b_scales.size() != 1 || product->b_zero_points.size() > 1 ||
      !product->bias.empty())
    return std::nullopt;
  const Product shape = product_of(*product->anchor, a, b, y);
  const Matrices matrices(shape);
  if (shape.transpose_a || shape.transpose_b || matrices.depth % kVnniGroupBytes != 0 ||
      matrices.depth > kMostDepth || matrices.columns < kVectorColumns / 2 || !has_vector_blocks())
    return std::nullopt;
  const bool a_signed = a.element == ElementType::kInt8, b_signed = b.element == ElementType::kInt8;
  const double b_zero = product->b_zero_points.empty() ? 0 : product->b_zero_points[0];
  return Int8Batches{std::move(*product),
                     matrices,
                     static_cast<int32_t>(product->a_affine.zero_point) + (a_signed ? kShift : 0),
                     static_cast<int32_t>(b_zero) - (b_signed ? 0 : kShift),
                     a_signed,
                     b_signed};
}

class VectorBatches : public Kernel {
 public:
  VectorBatches(Int8Batches work, IntegerEpilogue epilogue)
      : work_(std::move(work)), epilogue_(std::move(epilogue)) {
    name = "cpu:vectors:batches";
    in_place = epilogue_.in_place();
    const Matrices& m = work_.matrices;
    const double products = static_cast<double>(m.a.size()) * static_cast<double>(m.rows * m.columns);
    threads_ = threads_for(2 * products * static_cast<double>(m.depth));
    const auto matrices = static_cast<int64_t>(m.a.size());
    row_partitions_ = matrices >= threads_ ? 1 : std::min<int64_t>(threads_, m.rows);
    constexpr int64_t kPage = 4096;
    partition_bytes_ =
        (work_.groups_bytes() + kPage - 1) / kPage * kPage + kPage;  // not all in the same sets
    scratch_bytes = static_cast<size_t>(partition_bytes_ * threads_);
  }

  bool reads(size_t input) const override {
    return input == work_.product.a || input == work_.product.b || epilogue_.reads(static_cast<int>(input));
  }

  void run(const KernelArguments& arguments) const override {
    const Matrices& m = work_.matrices;
    const int64_t items = static_cast<int64_t>(m.a.size()) * row_partitions_;
    parallel(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition)
        run_partition(arguments, items * partition / threads_, items * (partition + 1) / threads_,
                      arguments.scratch + partition * partition_bytes_);
    });
  }

 private:
  // Each item is some rows of a product.
  void run_partition(const KernelArguments& arguments, int64_t first, int64_t last, std::byte* groups) const {
    const Matrices& m = work_.matrices;
    std::vector<int32_t> initial(static_cast<size_t>(work_.column_blocks() * kVectorColumns));
    std::optional<int64_t> packed;
    for (int64_t item = first; item < last; ++item) {
      const int64_t matrix = item / row_partitions_, part = item % row_partitions_;
      const int64_t b = m.b[static_cast<size_t>(matrix)];
      if (packed != b)
        pack(static_cast<const uint8_t*>(arguments.inputs[work_.product.b]), b, groups, initial);
      packed = b;
      multiply(arguments, matrix, m.rows * part / row_partitions_, m.rows * (part + 1) / row_partitions_,
               groups, initial.data());
    }
  }

  void pack(const uint8_t* b, int64_t matrix, std::byte* groups, std::vector<int32_t>& initial) const {
    const Matrices& m = work_.matrices;
    pack_vnni_groups(b + matrix * m.depth * m.columns, m.depth, m.columns, work_.b_signed, groups,
                     initial.data());
    for (size_t i = 0; i < initial.size(); ++i)
      initial[i] = wrapped(epilogue_.initial(0)[i] + work_.a_zero * (m.depth * work_.b_zero - initial[i]));
  }

  void multiply(const KernelArguments& arguments, int64_t matrix, int64_t begin, int64_t end,
                const std::byte* groups, const int32_t* initial) const {
    const Matrices& m = work_.matrices;
    const auto* a = static_cast<const std::byte*>(arguments.inputs[work_.product.a]) +
                    m.a[static_cast<size_t>(matrix)] * m.rows * m.depth;
    alignas(64) std::array<int32_t, kMostSums * kVectorColumns> sums;
    std::array<uint32_t, kMostSums> moves;
    for (int64_t row = begin; row < end; row += kMostSums) {
      const int64_t rows = std::min(kMostSums, end - row);
      const std::byte* x = a + row * m.depth;
      row_moves(x, rows, moves.data());
      for (int64_t column = 0; column < m.columns; column += kVectorColumns) {
        multiply_vectors(work_.a_signed ? ElementType::kInt8 : ElementType::kUint8,
                         {x, m.depth, rows, m.depth / kVnniGroupBytes, groups + column * m.depth, sums.data(),
                          initial + column, false});
        if (work_.b_zero != 0) move(sums.data(), moves.data(), rows);
        epilogue_.finish(arguments, {sums.data(), kVectorColumns, matrix * m.rows + row, column, rows,
                                     std::min(kVectorColumns, m.columns - column)});
      }
    }
  }

  // Computes what the zero point of b adds to the accumulators of each row.
  void row_moves(const std::byte* x, int64_t rows, uint32_t* moves) const {
    if (work_.b_zero == 0) return;
    const int64_t depth = work_.matrices.depth, shifts = work_.a_signed ? depth * kShift : 0;
    std::array<int32_t, kMostSums> sums;
    sum_rows_of_int8(reinterpret_cast<const uint8_t*>(x), rows, depth, work_.a_signed, sums.data());
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
      moves[row] = static_cast<uint32_t>(-work_.b_zero * (shifts + sums[row]));
  }

  static void move(int32_t* sums, const uint32_t* moves, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = row * kVectorColumns; i < (row + 1) * kVectorColumns; ++i)
        sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + moves[row]);
    }
  }

  static int32_t wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(sum)); }

  Int8Batches work_;
  IntegerEpilogue epilogue_;
  int64_t threads_ = 1, row_partitions_ = 1, partition_bytes_ = 0;
};

std::vector<std::string> tactics_vector_batches(const KernelRequest& request) {
  std::string reason;
  return batches_of(request, reason) ? std::vector<std::string>{kInt8Vectors} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_vector_batches(const KernelRequest& request, std::string& reason) {
  auto work = batches_of(request, reason);
  if (!work) return nullptr;
  reason = fmt::format("the tactic '{}' does not apply", request.tactic);
  if (request.tactic != kInt8Vectors) return nullptr;
  const Matrices& m = work->matrices;
  auto epilogue = IntegerEpilogue::of(work->product, request,
                                      {std::vector<int64_t>(static_cast<size_t>(m.columns)), m.depth},
                                      request.out().dims.size() - 1, reason);
  if (!epilogue) return nullptr;
  auto kernel = std::make_unique<VectorBatches>(std::move(*work), std::move(*epilogue));
  kernel->contract = {ElementType::kFloat, ElementType::kInt32, request.out().element,
                      NumericsContract::Order::kBlocked};
  return kernel;
}

}  // namespace

void register_vector_batches(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qmatmul", LayoutRule::kPlain, Priority::kBatches, make_vector_batches,
                tactics_vector_batches});
  registry.add({"", "QLinearMatMul", LayoutRule::kPlain, Priority::kBatches, make_vector_batches,
                tactics_vector_batches});
}

}  // namespace vernier::cpu
