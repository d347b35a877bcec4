// What a kernel of quantised attention needs to know of its group.
#pragma once

#include <array>
#include <optional>

#include "vernier/backends/cpu/quantized/byte_rows.h"

namespace vernier::cpu {

// Where heads of bytes lie, in elements, and what they become before they are multiplied.
struct ByteHeads {
  int input = -1;  // of the request
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  ByteTable table = {};  // queries become unsigned bytes, keys and values signed ones
  int64_t zero = 0;      // the zero point of these

  int64_t at(int64_t entry, int64_t head) const { return entry * batch_stride + head * head_stride; }
};

struct ByteAttentionPlan {
  int64_t batch, heads, queries, keys, size, value_size;
  ByteHeads q, k, v, out;  // of `out` the strides only
  struct {
    int input = -1;                       // floats
    std::array<int64_t, 4> strides = {};  // by entry, head, query, key
  } mask;
  ByteRounding score, sum, result;  // products of queries and keys; with the mask; products with values
  float score_unit;                 // of the former in the unit of the latter
  ByteSoftmax softmax;
  int64_t weight_zero;  // of its bytes, which are unsigned
  ElementType out_element;
  uint8_t out_flip;  // from unsigned bytes to those of the output
};

// Nothing, with `reason`, for what is no quantised attention, or where the processor has no such vectors.
std::optional<ByteAttentionPlan> plan_byte_attention(const KernelRequest& request, std::string& reason);

}  // namespace vernier::cpu
