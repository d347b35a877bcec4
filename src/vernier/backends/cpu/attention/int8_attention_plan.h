// This file has what a kernel of quantized attention needs to know of its group.
#pragma once

#include <array>
#include <optional>

#include "vernier/backends/cpu/quantized/int8_rows.h"

namespace vernier::cpu {

// Where the int8 heads of an operand lie, in elements, and how they are converted before the product.
struct Int8Heads {
  int input = -1;  // of the request
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  Int8Table table = {};  // queries become uint8, keys and values signed ones
  int64_t zero = 0;      // the zero point of these

  int64_t at(int64_t entry, int64_t head) const { return entry * batch_stride + head * head_stride; }
};

struct Int8AttentionPlan {
  int64_t batch, heads, queries, keys, size, value_size;
  Int8Heads q, k, v, out;  // of `out` the strides only
  struct {
    int input = -1;                       // floats
    std::array<int64_t, 4> strides = {};  // by entry, head, query, key
  } mask;
  Int8Rounding score, sum, result;  // products of queries and keys; with the mask; products with values
  float score_unit;                 // of the former in the unit of the latter
  Int8Softmax softmax;
  int64_t weight_zero;  // the zero point of its result, which is uint8
  ElementType out_element;
  uint8_t out_flip;  // from uint8 to those of the output
};

// Nothing, with `reason`, for what is no quantized attention, or where the processor has no such vectors.
std::optional<Int8AttentionPlan> plan_int8_attention(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cpu
