// An epilogue follows a contraction in a group: a chain of pointwise operators that its kernel can compute
// before it stores.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

struct PostOp {
  enum class Kind : uint8_t {
    kRelu,    // alpha * x below 0
    kClip,    // between alpha and beta
    kLinear,  // alpha * x + beta
    kSigmoid,
    kTanh,
    kElu,  // alpha * (exp(x) - 1) below 0
    kGeluErf,
    kGeluTanh,
    kSwish,  // x * sigmoid(alpha * x)
    kHardSwish,
    kAbs,
    kSqrt,
    kExp,
    kAdd,       // operand
    kSubtract,  // x - operand
    kMultiply,
    kDivide,  // x / operand
    kMax,
    kMin,
  };
  Kind kind;
  float alpha = 0, beta = 0;
  int operand = -1;  // which input of the request, for those with an operand
};

// A contraction alone, or a group's first node with what follows.
struct Fused {
  const Node* anchor = nullptr;
  std::vector<int> inputs;  // of the anchor, as inputs of the request; -1: left out
  std::vector<PostOp> post_ops;
};

// Nothing, with `reason`, if the group is no such chain.
std::optional<Fused> parse_fused(const KernelRequest& request, std::string& reason);

// Whether `next`, which reads `chain`, can follow it in the epilogue of `anchor`; for the pass that makes the
// groups.
bool can_follow(const Node& anchor, const Node& next, const Value& chain);

}  // namespace vernier
