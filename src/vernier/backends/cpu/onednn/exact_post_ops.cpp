#include "vernier/backends/cpu/onednn/exact_post_ops.h"

#include "vernier/backends/cpu/epilogue/row_epilogue.h"
#include "vernier/backends/cpu/onednn/invalid_operations.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier::cpu {

namespace {

using Kind = PostOp::Kind;

// Whether oneDNN makes numbers of NaN, or NaN of infinities that have a value.
bool is_exact(const PostOp& post) {
  switch (post.kind) {
    case Kind::kRelu: return post.alpha != 0;
    case Kind::kClip:
    case Kind::kSigmoid:
    case Kind::kExp:
    case Kind::kMax:
    case Kind::kMin: return false;
    default: return true;
  }
}

// Post-ops on what a primitive has stored.
class StoredPostOps {
 public:
  StoredPostOps(RowEpilogue epilogue, const Operand& y)
      : epilogue_(std::move(epilogue)), count_(element_count(y.memory_dims())) {}

  bool reads(int input) const { return epilogue_.reads(input); }

  void run(const KernelArguments& arguments) const {
    constexpr int64_t kGrain = 1 << 14;
    // Without an operand for each column the output is one row.
    const int64_t columns = epilogue_.has_columns() ? epilogue_.columns() : kBlock;
    const int64_t rows = (count_ + columns - 1) / columns;
    parallel(rows, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      run_range(arguments, begin * columns, std::min(count_, end * columns));
    });
  }

 private:
  static constexpr int64_t kBlock = 4096;  // elements, which all post-ops find in the first cache

  void run_range(const KernelArguments& arguments, int64_t begin, int64_t end) const {
    const int64_t row_size = epilogue_.has_columns() ? epilogue_.columns() : count_;
    for (int64_t at = begin; at < end;) {
      const int64_t column = at % row_size, count = std::min({kBlock, row_size - column, end - at});
      alignas(64) float buffer[kBlock];
      void* y = arguments.outputs[0];
      float* sums = epilogue_.stored() == ElementType::kFloat ? static_cast<float*>(y) + at : buffer;
      load_floats(epilogue_.stored(), y, at, count, buffer);
      // Offsets in the output are those of rows of columns(); all of one row is its row 0.
      if (epilogue_.has_columns())
        epilogue_.finish(arguments, {sums, row_size, at / row_size, column, 1, count});
      else
        epilogue_.finish(arguments, {sums, count, 0, at, 1, count});
      at += count;
    }
  }

  RowEpilogue epilogue_;
  int64_t count_;
};

class ExactPostOps : public KernelDecorator {
 public:
  // `whole`: the primitive with all post-ops, or null; `begun`: with those before `others`.
  ExactPostOps(std::unique_ptr<DnnlKernel> whole, std::unique_ptr<DnnlKernel> begun, StoredPostOps others)
      : KernelDecorator(std::move(begun)), whole_(std::move(whole)), others_(std::move(others)) {
    const auto& leading = whole_ ? *whole_ : static_cast<const DnnlKernel&>(*inner_);
    name = leading.name;
    contract = leading.contract;
    in_place = leading.in_place;
    threads_ = leading.threads;
    scratch_bytes = std::max(inner_->scratch_bytes, whole_ ? whole_->scratch_bytes : 0);
  }

  void prepare() const override { whole_ ? whole_->prepare() : inner_->prepare(); }
  bool is_prepared() const override { return whole_ ? whole_->is_prepared() : inner_->is_prepared(); }
  bool reads(size_t input) const override {
    return inner_->reads(input) || others_.reads(static_cast<int>(input));
  }

  void run(const KernelArguments& arguments) const override {
    if (whole_) {
      const InvalidOperations invalid;
      whole_->run(arguments);
      if (!invalid.seen()) return;
    }
    inner_->run(arguments);
    const ThreadLimit limit(threads_);
    others_.run(arguments);
  }

 private:
  std::unique_ptr<DnnlKernel> whole_;
  StoredPostOps others_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> with_exact_post_ops(const Fused& fused, const KernelRequest& request,
                                            size_t columns_axis, const MakeFused& make, std::string& reason) {
  const auto first = std::find_if_not(fused.post_ops.begin(), fused.post_ops.end(), is_exact);
  if (first == fused.post_ops.end()) return make(fused, reason);
  Fused before = fused, after = fused;
  before.post_ops.assign(fused.post_ops.begin(), first);
  after.post_ops.assign(first, fused.post_ops.end());
  auto others = RowEpilogue::of(after, request, columns_axis, reason);
  if (!others) return nullptr;
  const Operand& y = request.out();
  const bool is_plain = y.layout == Layout::kPlain || y.rank() < 3;
  // Rows of an image's columns lie together only where that is how the image lies; and the lanes behind the
  // last channel of a block stay what functions of zero are.
  if (others->has_columns() && y.layout == Layout::kBlocked16 && !is_plain) {
    reason = "an operand of what follows does not lie row by row";
    return nullptr;
  }
  auto begun = make(before, reason);
  if (!begun) return nullptr;
  StoredPostOps stored(std::move(*others), y);
  std::unique_ptr<DnnlKernel> whole;
  if (InvalidOperations::kAreSeen && begun->accumulate_into < 0) {
    whole = make(fused, reason);
    if (!whole) return nullptr;
    if (whole->accumulate_into >= 0) whole = nullptr;  // a sum that follows the first of such functions
  }
  return std::make_unique<ExactPostOps>(std::move(whole), std::move(begun), std::move(stored));
}

}  // namespace vernier::cpu
