#include "vernier/backends/cpu/epilogue/block_epilogue.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "vernier/backends/cpu/epilogue/tile_store.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"
#include "vernier/base/hash.h"

namespace vernier::cpu {

namespace {

// Kernels of one node for several sizes, of which there may be many at a time, have the same bias.
std::shared_ptr<const LineVector> shared_line(LineVector line) {
  static std::mutex mutex;
  static std::unordered_map<uint64_t, std::weak_ptr<const LineVector>> lines;  // by their content
  static size_t next_sweep = 256;
  const uint64_t hash = hash_bytes(line.data(), line.size() * sizeof(float));
  const std::lock_guard lock(mutex);
  if (lines.size() >= next_sweep) {
    std::erase_if(lines, [](const auto& entry) { return entry.second.expired(); });
    next_sweep = 2 * lines.size() + 256;
  }
  auto& known = lines[hash];
  if (auto shared = known.lock(); shared && shared->size() == line.size() &&
                                  std::memcmp(shared->data(), line.data(), line.size() * sizeof(float)) == 0)
    return shared;
  auto made = std::make_shared<const LineVector>(std::move(line));
  known = made;
  return made;
}

// The bias of so many columns in whole blocks.
std::shared_ptr<const LineVector> whole_blocks(const std::vector<float>& bias, int64_t columns) {
  LineVector line(bias.begin(), bias.end());
  line.resize(static_cast<size_t>((columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns));
  return shared_line(std::move(line));
}

// Applies bias, residual and activation in one pass if there is nothing else, and else post-op by post-op.
class FloatBlockEpilogue : public BlockEpilogue {
 public:
  FloatBlockEpilogue(RowEpilogue epilogue, const std::vector<float>& bias, int64_t columns)
      : columns_(columns),
        bias_(whole_blocks(bias, columns)),
        epilogue_(std::move(epilogue)),
        one_pass_(epilogue_.as_one_pass()) {}

  bool reads(int input) const override { return epilogue_.reads(input); }
  int in_place() const override { return epilogue_.in_place(); }

  void finish(const KernelArguments& arguments, const AccumulatorBlock& block) const override {
    auto* sums = static_cast<float*>(block.sums);
    const float* bias = bias_->data() + block.column;
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
        bias_->data() + block.column,
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
  std::shared_ptr<const LineVector> bias_;
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
