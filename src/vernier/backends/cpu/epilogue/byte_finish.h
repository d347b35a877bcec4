// What becomes of blocks of sums of products of bytes: an epilogue, or nothing.
#pragma once

#include "vernier/backends/cpu/epilogue/integer_epilogue.h"
#include "vernier/backends/cpu/epilogue/tile_finish.h"

namespace vernier::cpu {

class ByteFinish : public TileFinish {
 public:
  explicit ByteFinish(IntegerEpilogue epilogue) : epilogue_(std::move(epilogue)) {}
  bool reads(int input) const override { return epilogue_.reads(input); }
  int in_place() const override { return epilogue_.in_place(); }
  const void* starts(int64_t column) const override { return epilogue_.starts(column); }
  void finish(const KernelArguments& arguments, const TileSums& block) const override {
    epilogue_.finish(arguments, block_of(block));
  }
  std::optional<EarlyFinish> early(const KernelArguments& arguments, const TileSums& block) const override {
    const auto end = epilogue_.as_byte_end(arguments, block_of(block));
    return end ? std::optional<EarlyFinish>(*end) : std::nullopt;
  }

 private:
  static IntegerEpilogue::Block block_of(const TileSums& block) {
    return {static_cast<const int32_t*>(block.sums),
            block.stride,
            block.row,
            block.column,
            block.rows,
            block.columns};
  }

  IntegerEpilogue epilogue_;
};

// The sums are the output, of so many columns.
class SumsFinish : public TileFinish {
 public:
  explicit SumsFinish(int64_t columns) : columns_(columns) {}
  bool reads(int /*input*/) const override { return false; }
  int in_place() const override { return -1; }
  void finish(const KernelArguments& arguments, const TileSums& block) const override {
    const auto* sums = static_cast<const int32_t*>(block.sums);
    auto* to = static_cast<int32_t*>(arguments.outputs[0]) + block.row * columns_ + block.column;
    for (int64_t row = 0; row < block.rows; ++row)
      std::copy_n(sums + row * block.stride, block.columns, to + row * columns_);
  }

 private:
  int64_t columns_;
};

}  // namespace vernier::cpu
