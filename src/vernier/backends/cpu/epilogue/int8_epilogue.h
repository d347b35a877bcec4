// The epilogue of most int8 contractions: the commonest chains of steps (integer_rows.h), for AVX-512.
#pragma once

#include <optional>

#include "vernier/backends/cpu/epilogue/integer_rows.h"

namespace vernier::cpu {

// Every chain begins with x = accumulator * scale + offset and ends with the store as int8 or uint8. In
// between is one of: nothing; a residual of int8 that is added to x, which may be rounded first; or a number
// for each column that is added to the rounded x, which is rounded again.
class Int8Epilogue {
 public:
  // Takes what finish_integers() takes. Returns nothing for any other chain, and for outputs of floats.
  static std::optional<Int8Epilogue> of(std::span<const IntegerStep> steps, const StepOperands& operands,
                                        const IntegerRows& rows);

  // Stores `count` of the rows. 32 accumulators of each row are read, even if fewer columns count.
  void store(int64_t first, int64_t count) const { store_(*this, first, count); }

 private:
  friend struct Int8EpilogueLoops;
  struct Rounding {  // between bounds, to nearest even
    float least = 0, most = 0;
  };
  using Store = void (*)(const Int8Epilogue& end, int64_t first, int64_t count);

  IntegerRows rows_{};
  std::optional<Rounding> round_, again_;
  const float* columns_ = nullptr;
  float scale_ = 1;  // of what columns were added to
  const IntegerStep* add_ = nullptr;
  const void* added_ = nullptr;
  Store store_ = nullptr;
};

}  // namespace vernier::cpu
