// Says where kernels of GroupQueryAttention find their operands: in the node, and in the attention inside.
#pragma once

#include "vernier/backends/shared/attention/attention_plan.h"
#include "vernier/ops/contrib/operands.h"

namespace vernier {

namespace group_query {

using namespace ops::group_query;
inline constexpr size_t kFirstUnserved = kKeyScale;
// Numbers the inputs of the kernel inside.
enum Inner : int {
  kInnerQuery,
  kInnerKey,
  kInnerValue,
  kInnerValid,
  kInnerPositions,
  kInnerBias,
  kInnerSinks
};
inline constexpr size_t kInnerInputs = 7;

struct CachePlan {
  HeadsPlace q, k, v;
  int64_t old_rows = 0, keys = 0;  // of past and present
  struct Room {
    int64_t past = 0, present = 0;  // rows of a head that there is memory for
  };
  Room key_room, value_room;
  int64_t longest = 0;           // total_sequence_length
  int64_t half = 0, angles = 0;  // of the rotation: pairs, and positions; 0: there is none
  bool interleaved = false, smooth = false;
};

}  // namespace group_query

struct GroupQueryPlans {
  group_query::CachePlan cache;
  AttentionPlan attention;
};

// Nothing if the kernel does not serve the request.
std::optional<GroupQueryPlans> plan_group_query(const KernelRequest& request);

}  // namespace vernier
