#include "vernier/backends/cpu/epilogue/block_epilogue.h"

#include "vernier/backends/cpu/epilogue/tile_store.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"

namespace vernier::cpu {

namespace {

// Applies bias, residual and activation in one pass if there is nothing else, and else post-op by post-op.
class FloatBlockEpilogue : public BlockEpilogue {
 public:
  FloatBlockEpilogue(RowEpilogue epilogue, const std::vector<float>& bias, int64_t columns)
      : columns_(columns),
        bias_(bias.begin(), bias.end()),
        epilogue_(std::move(epilogue)),
        one_pass_(epilogue_.as_one_pass()) {
    bias_.resize(static_cast<size_t>((columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns));
  }

  bool reads(int input) const override { return epilogue_.reads(input); }
  int in_place() const override { return epilogue_.in_place(); }

  void finish(const KernelArguments& arguments, const AccumulatorBlock& block) const override {
    auto* sums = static_cast<float*>(block.sums);
    const float* bias = bias_.data() + block.column;
    if (!one_pass_) {
      store_tiles({sums, bias, nullptr, sums, kBlockColumns, block.rows, block.columns, false});
      return epilogue_.finish(arguments,
                              {sums, block.stride, block.row, block.column, block.rows, block.columns});
    }
    store_tiles({sums, bias, residual(arguments, block.row, block.column),
                 output(arguments, block.row, block.column), columns_, block.rows, block.columns,
                 epilogue_.stored() == ElementType::kBFloat16, one_pass_->end});
  }

  std::optional<EarlyEpilogue> early(const KernelArguments& arguments,
                                     const AccumulatorBlock& block) const override {
    if (!one_pass_ || one_pass_->end.gate != RowGate::kNone) return std::nullopt;
    return RegisterEpilogue{
        epilogue_.stored(),
        bias_.data() + block.column,
        {output(arguments, block.row, block.column), residual(arguments, block.row, block.column), columns_,
         one_pass_->end.low, one_pass_->end.high}};
  }

 private:
  int64_t offset(int64_t row, int64_t column) const {
    return (row * columns_ + column) * static_cast<int64_t>(element_size(epilogue_.stored()));
  }
  std::byte* output(const KernelArguments& arguments, int64_t row, int64_t column) const {
    return static_cast<std::byte*>(arguments.outputs[0]) + offset(row, column);
  }
  // Null if there is no residual.
  const std::byte* residual(const KernelArguments& arguments, int64_t row, int64_t column) const {
    return one_pass_->residual < 0
               ? nullptr
               : static_cast<const std::byte*>(arguments.inputs[one_pass_->residual]) + offset(row, column);
  }

  int64_t columns_;
  LineVector bias_;
  RowEpilogue epilogue_;
  std::optional<RowEpilogue::OnePass> one_pass_;  // set if one pass does all post-ops
};

}  // namespace

std::optional<FloatEpilogue> make_float_epilogue(const KernelRequest& request, const Fused& fused, int bias,
                                                 size_t columns_axis, std::string& reason) {
  auto epilogue = RowEpilogue::of(fused, request, columns_axis, reason);
  if (!epilogue) return std::nullopt;
  const auto added = epilogue->take_bias(request, bias);
  FloatEpilogue end{nullptr, float_contract(epilogue->stored())};
  end.contract.approximate = epilogue->is_approximate();
  end.epilogue =
      std::make_unique<FloatBlockEpilogue>(std::move(*epilogue), added, request.out().dims[columns_axis]);
  return end;
}

}  // namespace vernier::cpu
