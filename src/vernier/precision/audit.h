// An audit compares what an engine computes in with what its plan asks for, ONNX node by ONNX node.
#pragma once

#include "vernier/precision/plan.h"

namespace vernier {

// Holds what the step of a node does.
struct ExecutedPrecision {
  enum class How : uint8_t {
    kKernel,
    kReference,  // the operator's reference semantics, in double
    kView,       // no step: it moves nothing
    kFolded,     // before anything runs
    kRegion,     // in a region, which is planned when its sizes are known
  };
  How how = How::kKernel;
  std::string kernel;
  // Undefined: bits are moved, there are no sums, or the result stays inside its kernel.
  ElementType compute = ElementType::kUndefined, accumulate = ElementType::kUndefined,
              store = ElementType::kUndefined;
  ElementType said = ElementType::kUndefined;  // what the kernel's contract says it stores
  bool tf32 = false;                           // its factors are rounded to TF32
};

// The type in which it computes, or "tf32"; "?" where none is known.
std::string_view compute_name(const ExecutedPrecision& executed);

struct AuditRow {
  std::string node, op;
  std::optional<LayerPrecision> requested;  // nothing for nodes that the plan leaves alone
  ExecutedPrecision executed;
  std::string difference;  // empty: as requested, or wider
};

struct PrecisionAudit {
  std::vector<AuditRow> rows;  // in the order of execution; what was folded comes last
  size_t differences() const;
  std::string first_differences(size_t count) const;
};

// Why what is executed is not what was asked for; empty if it is. Wider is as good, but where a user set a
// type of results it must be that.
std::string difference(const LayerPrecision& requested, const ExecutedPrecision& executed);

// Thrown where a plan is to be obeyed and is not. The status of the program is 1.
class PrecisionDifference : public Error {
 public:
  explicit PrecisionDifference(const PrecisionAudit& audit);
};

}  // namespace vernier
