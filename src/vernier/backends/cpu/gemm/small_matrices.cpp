// MatMul of small matrices that are both known only when they are multiplied, alone or with an epilogue.
// There is nothing to make for a size but a few numbers: a library makes machine code for each, which takes
// longer than many such products, and a loop in which something grows has another size each time.
#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/gemm/packed_product.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

namespace {

constexpr double kSmallWork = 2e6;    // floating-point operations
constexpr int64_t kRows = 12;         // at a time: the results are still in the cache when the epilogue comes
constexpr int64_t kMostColumns = 64;  // of a panel, on any machine

class SmallMatrices : public Kernel {
 public:
  // Where the matrices of each entry of the output begin, in elements.
  struct Entry {
    int64_t a, b;
  };

  SmallMatrices(PackedShape shape, int64_t rows, std::vector<Entry> entries, int a, int b,
                RowEpilogue epilogue)
      : shape_(shape),
        rows_(rows),
        entries_(std::move(entries)),
        a_(a),
        b_(b),
        epilogue_(std::move(epilogue)) {
    name = "cpu:small_matrices";
    contract = float_contract(ElementType::kFloat);
    contract.approximate = epilogue_.is_approximate();
  }

  void run(const KernelArguments& arguments) const override {
    const auto* a = static_cast<const float*>(arguments.inputs[a_]);
    const auto* b = static_cast<const float*>(arguments.inputs[b_]);
    const int64_t panels = shape_.panels();
    // So many products of a panel are worth a thread.
    const int64_t grain = (1 << 18) / std::max<int64_t>(1, shape_.depth * panel_columns() * rows_) + 1;
    parallel(static_cast<int64_t>(entries_.size()) * panels, grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t entry = i / panels;
        const Entry& at = entries_[static_cast<size_t>(entry)];
        run_panel(arguments, a + at.a, b + at.b, entry * rows_, i % panels);
      }
    });
  }

  bool reads(size_t input) const override {
    const auto index = static_cast<int>(input);
    return index == a_ || index == b_ || epilogue_.reads(index);
  }

 private:
  void run_panel(const KernelArguments& arguments, const float* a, const float* b, int64_t first_row,
                 int64_t panel) const {
    alignas(64) float sums[kRows * kMostColumns];
    const int64_t width = panel_columns(), column = panel * width,
                  columns = std::min(width, shape_.columns - column);
    for (int64_t row = 0; row < rows_; row += kRows) {
      const int64_t count = std::min(kRows, rows_ - row);
      multiply_panels({.x = a + row * shape_.depth,
                       .x_stride = shape_.depth,
                       .rows = count,
                       .panels = b,
                       .bias = nullptr,
                       .y = sums,
                       .y_stride = width,
                       .matrix_stride = shape_.columns},
                      shape_, panel, panel + 1);
      epilogue_.finish(arguments, {sums, width, first_row + row, column, count, columns});
    }
  }

  PackedShape shape_;
  int64_t rows_;
  std::vector<Entry> entries_;
  int a_, b_;
  RowEpilogue epilogue_;
};

// Entries of the output in their order, by dimensions of which those of 1 are the same for all.
std::vector<SmallMatrices::Entry> entries_of(const Product& product) {
  std::vector<SmallMatrices::Entry> entries(1);
  const size_t batch = product.y.size() - 2;
  int64_t a_step = product.a[batch] * product.a[batch + 1], b_step = product.b[batch] * product.b[batch + 1];
  for (size_t axis = batch; axis-- > 0;) {
    std::vector<SmallMatrices::Entry> all;
    for (int64_t i = 0; i < product.y[axis]; ++i) {
      for (const auto& each : entries)
        all.push_back({each.a + (product.a[axis] == 1 ? 0 : i * a_step),
                       each.b + (product.b[axis] == 1 ? 0 : i * b_step)});
    }
    entries = std::move(all);
    a_step *= product.a[axis];
    b_step *= product.b[axis];
  }
  return entries;
}

std::unique_ptr<Kernel> make_small_matrices(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  if (!fused) return nullptr;
  reason = "no small product of matrices of floats";
  const Operand &a = request.in(static_cast<size_t>(fused->inputs[0])),
                &b = request.in(static_cast<size_t>(fused->inputs[1])), &y = request.out();
  if (!request.tactic.empty() || fused->anchor->op != "MatMul" || a.element != ElementType::kFloat ||
      b.element != a.element || y.element != a.element || b.constant != nullptr || a.size() == 0 ||
      b.size() == 0 || y.size() == 0 || panel_columns() > kMostColumns)
    return nullptr;
  const Product product = product_of(*fused->anchor, a, b, y);
  const int64_t depth = product.a.back();
  if (2 * static_cast<double>(y.size()) * static_cast<double>(depth) > kSmallWork) return nullptr;
  const auto flat = flattened(request, product);
  auto epilogue = RowEpilogue::of(*fused, flat, product.y.size() - 1, reason);
  if (!epilogue) return nullptr;
  return std::make_unique<SmallMatrices>(PackedShape{product.y.back(), depth},
                                         product.y[product.y.size() - 2], entries_of(product),
                                         fused->inputs[0], fused->inputs[1], std::move(*epilogue));
}

}  // namespace

void register_small_matrices(KernelRegistry& registry) {
  registry.add({"", "MatMul", LayoutRule::kPlain, Priority::kSmallBatches, make_small_matrices});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, Priority::kSmallBatches, make_small_matrices});
}

}  // namespace vernier::cpu
