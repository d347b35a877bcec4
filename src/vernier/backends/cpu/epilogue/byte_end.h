// The steps that most products of bytes end with (integer_rows.h), for processors with AVX-512.
#pragma once

#include <optional>

#include "vernier/backends/cpu/epilogue/integer_rows.h"

namespace vernier::cpu {

// x = sum * scale + offset; nothing more, or bytes are added to what is rounded before, or is not; or numbers
// of columns to what is rounded, which is rounded again. Then bytes, as all chains end.
class ByteEnd {
 public:
  // Of `steps` and what they read, as finish_integers() takes them. Nothing for other chains and floats.
  static std::optional<ByteEnd> of(std::span<const IntegerStep> steps, const StepOperands& operands,
                                   const IntegerRows& rows);

  // Some of the rows; of their sums 32 can be read.
  void store(int64_t first, int64_t count) const { store_(*this, first, count); }

 private:
  friend struct ByteLoops;
  struct Rounding {  // between bounds, to nearest even
    float least = 0, most = 0;
  };
  using Store = void (*)(const ByteEnd& end, int64_t first, int64_t count);

  IntegerRows rows_{};
  std::optional<Rounding> round_, again_;
  const float* columns_ = nullptr;
  float scale_ = 1;  // of what columns were added to
  const IntegerStep* add_ = nullptr;
  const void* added_ = nullptr;
  Store store_ = nullptr;
};

}  // namespace vernier::cpu
