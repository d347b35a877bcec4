// How blocks of int32 accumulators become outputs: by an integer epilogue, or stored as they are.
#pragma once

#include "vernier/backends/cpu/epilogue/block_epilogue.h"
#include "vernier/backends/cpu/epilogue/integer_epilogue.h"

namespace vernier::cpu {

class IntegerBlockEpilogue : public BlockEpilogue {
 public:
  explicit IntegerBlockEpilogue(IntegerEpilogue epilogue) : epilogue_(std::move(epilogue)) {}
  bool reads(int input) const override { return epilogue_.reads(input); }
  int in_place() const override { return epilogue_.in_place(); }
  const void* initial(int64_t column) const override { return epilogue_.initial(column); }
  void finish(const KernelArguments& arguments, const AccumulatorBlock& block) const override {
    epilogue_.finish(arguments, block_of(block));
  }
  std::optional<EarlyEpilogue> early(const KernelArguments& arguments,
                                     const AccumulatorBlock& block) const override {
    const auto end = epilogue_.as_int8_epilogue(arguments, block_of(block));
    return end ? std::optional<EarlyEpilogue>(*end) : std::nullopt;
  }

 private:
  static IntegerEpilogue::Block block_of(const AccumulatorBlock& block) {
    return {static_cast<const int32_t*>(block.sums),
            block.stride,
            block.row,
            block.column,
            block.rows,
            block.columns};
  }

  IntegerEpilogue epilogue_;
};

// The accumulators are the output, a matrix of `columns` columns.
class NoEpilogue : public BlockEpilogue {
 public:
  explicit NoEpilogue(int64_t columns) : columns_(columns) {}
  bool reads(int /*input*/) const override { return false; }
  int in_place() const override { return -1; }
  void finish(const KernelArguments& arguments, const AccumulatorBlock& block) const override {
    const auto* sums = static_cast<const int32_t*>(block.sums);
    auto* to = static_cast<int32_t*>(arguments.outputs[0]) + block.row * columns_ + block.column;
    for (int64_t row = 0; row < block.rows; ++row)
      std::copy_n(sums + row * block.stride, block.columns, to + row * columns_);
  }

 private:
  int64_t columns_;
};

}  // namespace vernier::cpu
