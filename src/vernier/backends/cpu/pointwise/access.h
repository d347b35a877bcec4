// How the operands of a pointwise kernel lie under the walk over its output's memory.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

struct Access {
  enum class Kind : uint8_t {
    kDirect,    // element for element
    kUniform,   // one element for all
    kPeriodic,  // `period` elements again and again
    kRows,      // by strides
  };
  size_t input = 0;  // of the request
  ElementType element = ElementType::kUndefined;
  std::vector<int64_t> strides;  // in elements, per axis of the walk
  Kind kind = Kind::kRows;
  int64_t period = 0;
  // Content that the kernel owns, instead of the input's.
  std::shared_ptr<const std::vector<std::byte>> own;

  bool operator==(const Access& other) const { return input == other.input && strides == other.strides; }
};

// An operand of a node, whose sizes are aligned to those of the output at the right, as `aligned` (the
// operand's own, unless the operator aligns otherwise). Nothing, with `reason`, if it does not lie so that it
// can be walked over.
std::optional<Access> make_access(const KernelRequest& request, size_t input, const Dims& aligned,
                                  std::string& reason);

// Joins axes of the walk where all operands allow it, and says of each operand what kind it is. Returns the
// sizes of the walk.
Dims settle(std::vector<Access>& accesses, const Operand& out);

// Longer rows are read where they are.
inline constexpr int64_t kLongestPeriod = 1024;

// Copies what `count` elements of the walk from `begin` on read. If they lie in one piece it copies nothing
// and returns that; else `to`.
const std::byte* gather(const Access& access, const Dims& walk, const std::byte* from, int64_t begin,
                        int64_t count, std::byte* to);

}  // namespace vernier::cpu
