// MatMul and Gemm of few rows and small constant weights, alone or with an epilogue: what a library takes to
// begin would be most of their time.
#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/gemm/packed_product.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/shared/epilogue.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

namespace {

constexpr double kSmallWork = 2e6;  // floating-point operations
constexpr int64_t kRows = 12;       // at a time: the results are still in the cache when the epilogue comes

class SmallProduct : public Kernel {
 public:
  SmallProduct(PackedShape shape, int64_t rows, int x, std::shared_ptr<const PackedForm> panels,
               std::vector<float> bias, RowEpilogue epilogue)
      : shape_(shape),
        rows_(rows),
        x_(x),
        panels_(std::move(panels)),
        bias_(std::move(bias)),
        epilogue_(std::move(epilogue)) {
    name = "cpu:small_product";
    contract = float_contract(ElementType::kFloat);
    contract.approximate = epilogue_.is_approximate();
    if (!is_direct()) scratch_bytes = sizeof(float) * static_cast<size_t>(kRows * shape_.row_size());
  }

  void run(const KernelArguments& arguments) const override {
    // Reading weights from beyond the first cache is most of the time: so many pay for a second thread.
    constexpr int64_t kBytes = 256 * 1024;
    const int64_t panel_bytes = shape_.depth * panel_columns() * static_cast<int64_t>(sizeof(float));
    parallel(shape_.panels(), kBytes / panel_bytes + 1,
             [&](int64_t first, int64_t last) { run_panels(arguments, first, last); });
  }
  void prepare() const override { panels_->content(); }
  bool is_prepared() const override { return panels_->is_made(); }

 private:
  // Whether rows of the result have no more columns than they should.
  bool is_direct() const { return shape_.row_size() == shape_.columns; }

  void run_panels(const KernelArguments& arguments, int64_t first, int64_t last) const {
    const auto* x = static_cast<const float*>(arguments.inputs[x_]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const float* bias = bias_.empty() ? nullptr : bias_.data();
    const auto* panels = reinterpret_cast<const float*>(panels_->content().data());
    const int64_t column = first * panel_columns(),
                  columns = std::min(last * panel_columns(), shape_.columns) - column;
    for (int64_t row = 0; row < rows_; row += kRows) {
      const int64_t count = std::min(kRows, rows_ - row);
      float* sums = is_direct() ? y + row * shape_.columns : reinterpret_cast<float*>(arguments.scratch);
      multiply_panels({x + row * shape_.depth, shape_.depth, count, panels, bias, sums, shape_.row_size()},
                      shape_, first, last);
      epilogue_.finish(arguments, {sums + column, shape_.row_size(), row, column, count, columns});
    }
  }

  PackedShape shape_;
  int64_t rows_;
  int x_;
  std::shared_ptr<const PackedForm> panels_;
  std::vector<float> bias_;
  RowEpilogue epilogue_;
};

std::unique_ptr<Kernel> make_small_product(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  if (!fused) return nullptr;
  reason = "no small product";
  const Node& node = *fused->anchor;
  const Operand &a = request.in(static_cast<size_t>(fused->inputs[0])),
                &b = request.in(static_cast<size_t>(fused->inputs[1])), &y = request.out();
  const bool gemm = node.op == "Gemm";
  const bool transposed = gemm && ops::integer_attribute(node, "transB") != 0;
  const auto is_one = [&](const char* factor) { return !gemm || ops::real_attribute(node, factor) == 1; };
  if (!request.tactic.empty() || a.element != ElementType::kFloat || b.element != a.element ||
      y.element != a.element || b.constant == nullptr || b.rank() != 2 || a.rank() < 1 || a.size() == 0 ||
      y.size() == 0 || !is_one("alpha") || !is_one("beta") ||
      (gemm && ops::integer_attribute(node, "transA") != 0))
    return nullptr;
  const int64_t depth = a.dims.back(), rows = a.size() / depth;
  const PackedShape shape{b.size() / depth, depth};
  if (2 * static_cast<double>(rows) * static_cast<double>(b.size()) > kSmallWork) return nullptr;
  if (fused->inputs.size() > 2 && fused->inputs[2] >= 0)
    fused->post_ops.insert(fused->post_ops.begin(), {PostOp::Kind::kAdd, 0, 0, fused->inputs[2]});
  auto epilogue = RowEpilogue::of(*fused, request, y.dims.size() - 1, reason);
  if (!epilogue) return nullptr;
  auto panels =
      request.pack(*b.constant, fmt::format("panels {}{}", panel_columns(), transposed ? " t" : ""),
                   sizeof(float) * static_cast<size_t>(shape.size()),
                   [source = *b.constant, shape, transposed, depth](std::byte* to) {
                     pack_panels(static_cast<const float*>(source.raw()), shape, transposed ? depth : 1,
                                 transposed ? 1 : shape.columns, reinterpret_cast<float*>(to));
                   });
  auto bias = epilogue->take_bias(request);
  if (!bias.empty()) bias.resize(static_cast<size_t>(shape.row_size()));
  return std::make_unique<SmallProduct>(shape, rows, fused->inputs[0], std::move(panels), std::move(bias),
                                        std::move(*epilogue));
}

}  // namespace

void register_small_product(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "Gemm"})
    registry.add({"", op, LayoutRule::kPlain, Priority::kSmallGemm, make_small_product});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, Priority::kSmallGemm, make_small_product});
}

}  // namespace vernier::cpu
