// What codes can stand for. Internal to the room.
#pragma once

#include "vernier/passes/quantization/quantisation.h"

namespace vernier {

struct CodeRange {
  double low = 0, high = 0;

  // Of one scale.
  static CodeRange of(const Quantisation& from);
  // That of INT8 around zero that reaches as far.
  double symmetric_scale() const;
};

// Whether operators alone tell so.
bool is_never_negative(const Value* value);

}  // namespace vernier
