#include "vernier/backends/cpu/tiles/tile_finish.h"

#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/backends/cpu/tiles/tile_block.h"
#include "vernier/backends/cpu/tiles/tile_store.h"

namespace vernier::cpu {

namespace {

// Finishes sums in one pass, or with all that follows, one by one.
class FloatFinish : public TileFinish {
 public:
  FloatFinish(RowEpilogue epilogue, std::vector<float> bias, int64_t columns)
      : columns_(columns),
        bias_(std::move(bias)),
        epilogue_(std::move(epilogue)),
        one_pass_(epilogue_.as_one_pass()) {
    bias_.resize(static_cast<size_t>((columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns));
  }

  bool reads(int input) const override { return epilogue_.reads(input); }
  int in_place() const override { return epilogue_.in_place(); }

  void finish(const KernelArguments& arguments, const TileSums& block) const override {
    auto* sums = static_cast<float*>(block.sums);
    const float* bias = bias_.data() + block.column;
    if (!one_pass_) {
      store_tiles({sums, bias, nullptr, sums, kBlockColumns, block.rows, block.columns, false});
      return epilogue_.finish(arguments,
                              {sums, block.stride, block.row, block.column, block.rows, block.columns});
    }
    const int64_t offset =
        (block.row * columns_ + block.column) * static_cast<int64_t>(element_size(epilogue_.stored()));
    const void* residual =
        one_pass_->residual < 0
            ? nullptr
            : static_cast<const std::byte*>(arguments.inputs[one_pass_->residual]) + offset;
    store_tiles({sums, bias, residual, static_cast<std::byte*>(arguments.outputs[0]) + offset, columns_,
                 block.rows, block.columns, epilogue_.stored() == ElementType::kBFloat16, one_pass_->end});
  }

 private:
  int64_t columns_;
  std::vector<float> bias_;
  RowEpilogue epilogue_;
  std::optional<RowEpilogue::OnePass> one_pass_;  // which then is all of it
};

}  // namespace

std::optional<FloatEnd> make_float_end(const KernelRequest& request, const Fused& fused, int bias,
                                       size_t columns_axis, std::string& reason) {
  auto epilogue = RowEpilogue::of(fused, request, columns_axis, reason);
  if (!epilogue) return std::nullopt;
  auto added = epilogue->take_bias(request, bias);
  FloatEnd end{nullptr, float_contract(epilogue->stored())};
  end.contract.approximate = epilogue->is_approximate();
  end.finish =
      std::make_unique<FloatFinish>(std::move(*epilogue), std::move(added), request.out().dims[columns_axis]);
  return end;
}

}  // namespace vernier::cpu
