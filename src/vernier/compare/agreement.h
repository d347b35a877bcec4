// Whether two runs decide alike: the largest elements along the last axis.
#pragma once

#include <cstdint>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Counts over rows of the last axis, which add up over tensors.
struct Agreement {
  int64_t rows = 0;
  int64_t same_argmax = 0;   // the actual row's first maximum is a maximum of the reference
  int64_t top_k_places = 0;  // k per row longer than k
  int64_t top_k_shared = 0;  // places of the actual row's k largest that are among the reference's k largest

  void merge(const Agreement& other);
};

// Float, rank >= 1, 2 to 65536 elements along the last axis.
bool looks_like_logits(ElementType type, const Dims& dims);
// Takes tensors of equal dims that look like logits. A row that holds a NaN on either side agrees in nothing.
Agreement count_agreement(const Tensor& reference, const Tensor& actual, int64_t k);

}  // namespace vernier
