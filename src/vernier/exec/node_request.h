// A node at the sizes of a run: what inference makes of it there, and what a backend is asked for.
#pragma once

#include "vernier/exec/backend.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/op_def.h"

namespace vernier {

// Which contents are looked at when a node is made at run time, beside those of constants.
enum class NodeContent : uint8_t { kNone, kSmall, kAll };

// Whether a kernel may look at it when it is made: axes, sizes, scales and bounds are no larger.
bool is_small_content(const Tensor& tensor);

struct InferredNode {
  // `inputs` holds every input, null where it is left out. Throws what inference throws.
  InferredNode(const Node& node, const ops::OpDef& def, const std::vector<const Datum*>& inputs,
               NodeContent content);

  // The results, where all are integers that follow from what inference looked at; else nothing.
  std::vector<Datum> results(const Node& node) const;

  std::vector<ops::ValueInfo> outputs;
  std::vector<ElementType> declared;  // element types of the inputs
};

// Nothing if an operand is no tensor, or one of strings. Where the sizes of an output are not known, those of
// all are left open.
std::optional<KernelRequest> request_for(const Node& node, const std::vector<const Datum*>& inputs,
                                         const InferredNode& inferred, NodeContent content);

// Whether the output has the elements of input 0 in the same order.
bool is_view(const ops::OpDef& def, const KernelRequest& request);

}  // namespace vernier
