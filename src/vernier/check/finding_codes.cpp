#include "vernier/check/finding_codes.h"

#include <iterator>

namespace vernier {

namespace {

using enum FoundBy;

constexpr FindingCode kCodes[] = {
    {"B1-norm-overflow", "sums of squares overflow in FP16", kModel},
    {"B2-activation-overflow", "a value passes the largest number of FP16", kData},
    {"B2-little-headroom", "a value comes near to the largest number of FP16", kData},
    {"B4-weight-underflow", "the weights of an output channel vanish in FP16", kModel},
    {"B4-activation-underflow", "a value lies below the normal range of FP16", kData},
    {"B5-epsilon-lost", "an epsilon is zero in its type", kModel},
    {"B5-denominator-underflow", "a denominator becomes zero in its type", kData},
    {"B6-mask-sentinel", "a mask constant leaves the range of its type", kModel},
    {"B7-late-scale", "attention scores are scaled after their product", kModel},
    {"B7-large-scores", "scores are too large for the steps of their type", kData},
    {"B8-long-sum", "a long sum in a narrow accumulator", kModel},
    {"B10-integers-in-floats", "integers pass through a float that does not hold them", kModel},
    {"B11-large-argument", "sine or cosine of a large argument in a narrow type", kModel},
    {"B12-cancelling-variance", "a variance that is the difference of two large numbers", kModel},
    {"B12-large-mean", "a mean of many standard deviations", kData},
    {"B14-cast-chain", "a narrowing Cast is undone at once", kModel},
    {"B15-coarse-grid", "coordinates in BF16", kModel},
    {"B16-damaged-weight", "weights are NaN or infinite", kModel},
    {"B16-first-nan", "the first NaN appears at this node", kData},
    {"B16-first-infinity", "the first infinity appears at this node", kData},
    {"B16-input-not-finite", "the data hold NaN or infinity", kData},
    {"B18-narrow-feedback", "a loop feeds back its state in a narrow type", kModel},
    {"B20-saturation", "QuantizeLinear cuts off what counts", kData},
    {"B20-coarse-scale", "the data use few of the codes", kData},
    {"B23-invalid-scale", "a scale is zero, negative or not finite", kModel},
    {"B24-uneven-channels", "one scale for channels of different range", kModel},
    {"B25-symmetric-gate", "symmetric codes behind a one-sided activation", kModel},
    {"B26-unequal-concat", "a Concat requantizes a branch coarsely", kModel},
    {"B27-unequal-add", "an Add requantizes a branch coarsely", kModel},
    {"B28-saturated-bias", "a bias lies at an end of int32", kModel},
    {"B28-bias-scale", "the scale of a bias is not input scale times weight scale", kModel},
    {"B31-range", "an activation lies outside the range of its operator", kEngine},
    {"B31-softmax-sum", "a row of Softmax does not add up to one", kEngine},
    {"B32-clip-bounds", "the bounds of a Clip are exchanged or NaN", kModel},
    {"B32-clip-rank", "the bounds of a Clip are no scalars", kModel},
    {"B32-range", "what a Clip yields lies outside its bounds", kEngine},
    {"B33-pool-divisor", "it is open what the last window of a pooling is divided by", kModel},
    {"B33-range", "what a pooling yields lies outside what it reads", kEngine},
    {"B34-resize-size", "the size of a Resize lies a rounding error beside an integer", kModel},
    {"B35-batch-norm", "a BatchNormalization does not fold into weights", kModel},
    {"B36-flattened-softmax", "a Softmax of before opset 13 sums over several axes", kModel},
    {"B37-wide-integer", "integers that 32 bits do not hold", kModel},
    {"B38-frozen-reshape", "a fixed shape in a model whose sizes vary", kModel},
    {"B39-index-out-of-range", "an index misses its axis", kModel},
    {"B39-duplicate-index", "updates of one place whose order is not defined", kModel},
    {"B40-unsorted-topk", "TopK in any order", kModel},
    {"B41-endless-loop", "a loop that never ends", kModel},
    {"B41-constant-branch", "a branch that never runs", kModel},
    {"B43-equal-rows", "equal samples of a batch have different answers", kEngine},
    {"B43-row-order", "answers do not follow the order of the samples", kEngine},
    {"B44-not-repeatable", "runs on the same inputs differ", kEngine},
    {"B46-state", "a run leaves something behind for the next", kEngine},
    {"B48-random", "randomness without a seed", kModel},
    {"B48-training-mode", "a node is left in training mode", kModel},
    {"S1-declared-type", "a declared type or shape that inference contradicts", kModel},
    {"S2-unused-input", "an input without use", kModel},
    {"S3-dead-node", "a node without use", kModel},
    {"S4-initializer-twice", "two initializers or constants of one name", kModel},
    {"S5-dimension-names", "the name of a dimension is none", kModel},
    {"S6-domain-not-imported", "a domain that opset_import lacks", kModel},
    {"S7-internal-attribute", "an attribute of a tool's own", kModel},
    {"S8-removed-operator", "an operator that ONNX removed", kModel},
    {"S9-signal-rank", "the signal of STFT lacks its last axis", kModel},
    {"S10-unknown-attribute", "an attribute that its operator does not have", kModel},
    {"S11-unknown-operator", "an operator that nobody knows", kModel},
    {"E1-not-loaded", "an engine does not load the model", kEngine},
    {"TRT0-refused", "TensorRT's parser or builder refuses the file", kTarget},
    {"TRT0-taken", "TensorRT's parser and builder take the file", kTarget},
    {"TRT1-zero-point", "a zero point is not zero", kTarget},
    {"TRT2-code-type", "codes of a type that TensorRT does not quantize to", kTarget},
    {"TRT3-scale", "a scale is computed", kTarget},
    {"TRT4-activation-scales", "an activation has a scale for each channel", kTarget},
    {"TRT5-channel-axis", "scales lie along another axis than output channels", kTarget},
    {"TRT6-unpaired", "QuantizeLinear and DequantizeLinear are no pair", kTarget},
    {"TRT7-one-operand", "one operand of a contraction is quantized", kTarget},
    {"TRT8-type", "a type that TensorRT does not have", kTarget},
    {"TRT9-double", "DOUBLE, which becomes FLOAT", kTarget},
    {"TRT10-bytes", "UINT8 inside of the network", kTarget},
    {"TRT11-int64", "inputs of INT64", kTarget},
    {"TRT12-mixed-types", "operands have different float types", kTarget},
    {"TRT13-opset", "an opset that TensorRT is not documented for", kTarget},
    {"TRT14-operator", "an operator that TensorRT's parser lacks", kTarget},
    {"TRT15-limit", "an operator beyond a limit of TensorRT's parser", kTarget},
    {"TRT16-float-sizes", "sizes are computed from an input of floats", kTarget},
    {"ORT1-no-kernel", "ONNX Runtime has no kernel for an operator in its types", kTarget},
    {"ORT2-not-loaded", "ONNX Runtime refuses the model", kTarget},
    {"ORT3-disagrees", "ONNX Runtime computes something else from an exported file", kTarget},
};

}  // namespace

std::string_view found_by_name(FoundBy found_by) {
  static constexpr std::string_view kNames[] = {"model", "data", "engine", "target"};
  return kNames[static_cast<size_t>(found_by)];
}

std::span<const FindingCode> finding_codes() {
  return kCodes;
}

}  // namespace vernier
