// MatMul and Gemm of few rows and small constant weights, alone or with an epilogue: what a library takes to
// begin would be most of their time.
#include "vernier/backends/cpu/epilogue.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/kernels/packed_product.h"
#include "vernier/backends/cpu/kernels/row_epilogue.h"

namespace vernier::cpu {

namespace {

constexpr double kSmallWork = 2e6;  // floating-point operations
constexpr int64_t kRows = 6;        // at a time: the results are still in the cache when the epilogue comes

// A post-op and how its operand lies.
struct RowPost {
  PostOp post;
  bool is_scalar = false, has_rows = false;  // one float for all, or a row for each row
};

class SmallProduct : public Kernel {
 public:
  SmallProduct(PackedShape shape, int64_t rows, int x, std::vector<float> panels, std::vector<float> bias,
               std::vector<RowPost> posts)
      : shape_(shape),
        rows_(rows),
        x_(x),
        panels_(std::move(panels)),
        bias_(std::move(bias)),
        posts_(std::move(posts)) {
    name = "cpu:small_product";
    contract = float_contract(ElementType::kFloat);
    contract.approximate = std::any_of(posts_.begin(), posts_.end(), [](const RowPost& each) {
      return each.post.kind >= PostOp::Kind::kSigmoid && each.post.kind <= PostOp::Kind::kSwish;
    });
    if (!is_direct()) scratch_bytes = sizeof(float) * static_cast<size_t>(kRows * shape_.row_size());
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[x_]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const float* bias = bias_.empty() ? nullptr : bias_.data();
    for (int64_t row = 0; row < rows_; row += kRows) {
      const int64_t count = std::min(kRows, rows_ - row);
      float* to = y + row * shape_.columns;
      float* sums = is_direct() ? to : reinterpret_cast<float*>(arguments.scratch);
      multiply_panels(
          {x + row * shape_.depth, shape_.depth, count, panels_.data(), bias, sums, shape_.row_size()},
          shape_, 0, shape_.panels());
      for (int64_t r = 0; r < count; ++r)
        finish(arguments, row + r, sums + r * shape_.row_size(), to + r * shape_.columns);
    }
  }

 private:
  // Whether rows of the result have no more columns than they should.
  bool is_direct() const { return shape_.row_size() == shape_.columns; }

  void finish(const KernelArguments& arguments, int64_t row, const float* sums, float* y) const {
    const float* from = sums;
    for (const RowPost& each : posts_) {
      const float* operand = nullptr;
      if (each.post.operand >= 0)
        operand = static_cast<const float*>(arguments.inputs[each.post.operand]) +
                  (each.has_rows ? row * shape_.columns : 0);
      apply_post(each.post, from, shape_.columns, operand, each.is_scalar, y);
      from = y;
    }
    if (from != y) std::copy_n(from, shape_.columns, y);
  }

  PackedShape shape_;
  int64_t rows_;
  int x_;
  std::vector<float> panels_, bias_;
  std::vector<RowPost> posts_;
};

bool is_row(const Operand& operand, int64_t columns) {
  return operand.size() == columns && operand.rank() >= 1 && operand.dims.back() == columns;
}

// Nothing if an operand lies in another way.
std::optional<std::vector<RowPost>> row_posts(const Fused& fused, const KernelRequest& request) {
  const Operand& y = request.out();
  std::vector<RowPost> result;
  for (const PostOp& post : fused.posts) {
    if (!is_row_post(post.kind)) return std::nullopt;
    RowPost& made = result.emplace_back(RowPost{post});
    if (post.operand < 0) continue;
    const Operand& operand = request.in(static_cast<size_t>(post.operand));
    if (operand.element != ElementType::kFloat || operand.rank() > y.rank()) return std::nullopt;
    made.is_scalar = operand.size() == 1;
    made.has_rows = !made.is_scalar && operand.dims == y.dims;
    if (!made.is_scalar && !made.has_rows && !is_row(operand, y.dims.back())) return std::nullopt;
  }
  return result;
}

// What is added to all rows first, if it is known, with zeros behind.
std::vector<float> take_bias(std::vector<RowPost>& posts, const KernelRequest& request,
                             const PackedShape& shape) {
  if (posts.empty() || posts[0].post.kind != PostOp::Kind::kAdd || posts[0].is_scalar || posts[0].has_rows)
    return {};
  const Tensor* content = request.in(static_cast<size_t>(posts[0].post.operand)).constant;
  if (content == nullptr) return {};
  posts.erase(posts.begin());
  const auto* values = static_cast<const float*>(content->raw());
  std::vector<float> bias(values, values + shape.columns);
  bias.resize(static_cast<size_t>(shape.row_size()));
  return bias;
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  if (!fused) return nullptr;
  reason = "no small product";
  const Node& node = *fused->anchor;
  const Operand &a = request.in(static_cast<size_t>(fused->inputs[0])),
                &b = request.in(static_cast<size_t>(fused->inputs[1])), &y = request.out();
  const bool gemm = node.op == "Gemm";
  const bool transposed = gemm && node.attribute<int64_t>("transB", 0) != 0;
  const auto is_one = [&](const char* factor) { return node.attribute<float>(factor, 1) == 1; };
  if (!request.tactic.empty() || a.element != ElementType::kFloat || b.element != a.element ||
      b.constant == nullptr || b.rank() != 2 || a.rank() < 1 || a.size() == 0 || y.size() == 0 ||
      !is_one("alpha") || !is_one("beta") || (gemm && node.attribute<int64_t>("transA", 0) != 0))
    return nullptr;
  const int64_t depth = a.dims.back(), rows = a.size() / depth;
  const PackedShape shape{b.size() / depth, depth};
  if (2 * static_cast<double>(rows) * static_cast<double>(b.size()) > kSmallWork) return nullptr;
  if (fused->inputs.size() > 2 && fused->inputs[2] >= 0)
    fused->posts.insert(fused->posts.begin(), {PostOp::Kind::kAdd, 0, 0, fused->inputs[2]});
  auto posts = row_posts(*fused, request);
  if (!posts) return nullptr;
  std::vector<float> panels(static_cast<size_t>(shape.size()));
  pack_panels(static_cast<const float*>(b.constant->raw()), shape, transposed ? depth : 1,
              transposed ? 1 : shape.columns, panels.data());
  auto bias = take_bias(*posts, request, shape);
  return std::make_unique<SmallProduct>(shape, rows, fused->inputs[0], std::move(panels), std::move(bias),
                                        std::move(*posts));
}

}  // namespace

void register_small_product(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "Gemm"}) registry.add({"", op, LayoutRule::kPlain, make});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, make});
}

}  // namespace vernier::cpu
