// Describes what an attention operator asks for at known sizes: where queries, keys, values, past, present
// and masks lie.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// Where heads lie, in elements.
struct HeadsPlace {
  int input = -1;      // of the step
  int64_t offset = 0;  // of the first element
  int64_t batch = 0, heads = 0, rows = 0, size = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  int bias = -1;  // input of the same type: what is added to every row, [heads * size] from an offset on
  int64_t bias_offset = 0;

  int64_t at(int64_t entry, int64_t head) const { return offset + entry * batch_stride + head * head_stride; }
  // [batch, heads, rows, size] in memory for `room` rows; 0: for as many as there are.
  static HeadsPlace separate(int input, const Dims& dims, int64_t room = 0);
  static HeadsPlace packed(int input, const Dims& dims, int64_t heads);  // [batch, rows, heads * size]
};

// Where present keys or values go: an output [batch, heads, keys, size] in memory for `room` rows of each
// head. In a cache the past lies there already.
struct PresentPlace {
  int output = -1;
  int64_t room = 0;
};

// Locates what is added to the scores: float, float16, bfloat16, or BOOL that tells what may be attended.
struct MaskPlace {
  int input = -1;
  ElementType element = ElementType::kFloat;
  int64_t keys = 0;                     // keys that it reaches; the others are forbidden
  std::array<int64_t, 4> strides = {};  // by entry, head, row, key
};

// Padding as com.microsoft tells it, in INT32: where the keys of each entry end (and then where they begin),
// or flags of keys, or of queries and keys. `filter` is added to its scores.
struct PaddingPlace {
  enum class Form : uint8_t { kEnds, kEndsAndStarts, kKeys, kQueriesAndKeys };
  int input = -1;
  Form form = Form::kEnds;
  float filter = 0;
};

// Says what a row gives whose weights do not add up to a number.
enum class WithoutWeights : uint8_t {
  kZerosIfForbidden,  // zeros where nothing may be attended, NaN where a score is none
  kNan,
  kZeros,
};

struct AttentionPlan {
  ElementType element = ElementType::kFloat;
  HeadsPlace q = {}, k = {}, v = {}, out = {};  // out.input is not used
  HeadsPlace past_k = {}, past_v = {};          // no rows where there is none
  PresentPlace present_k = {}, present_v = {};
  MaskPlace mask = {};
  PaddingPlace padding = {};
  int valid_keys = -1;  // input: INT64, the keys of each entry that count
  int positions =
      -1;          // input: INT64, among the keys that of the first query of each entry; -1: as these tell
  int sinks = -1;  // input: a float for each head, a score without a value
  bool causal = false;
  int64_t left = -1, right = -1;  // keys before and after its own place that a query may attend; -1: all
  float scale = 1, softcap = 0;
  WithoutWeights without = WithoutWeights::kZerosIfForbidden;

  int64_t keys() const { return past_k.rows + k.rows; }
};

}  // namespace vernier
