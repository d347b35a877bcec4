#include "vernier/diagnose/causes/repairs.h"

#include <map>

namespace vernier {

std::string_view repair_kind_name(Repair::Kind kind) {
  switch (kind) {
    case Repair::Kind::kNone: return "none";
    case Repair::Kind::kPlan: return "plan";
    case Repair::Kind::kRewrite: return "rewrite";
    case Repair::Kind::kOption: return "option";
    case Repair::Kind::kCaller: return "caller";
  }
  return "none";
}

Repair repair_of(const Culprit& culprit) {
  using Kind = Repair::Kind;
  static const std::map<std::string, Repair> known{
      {"B1", {Kind::kPlan, "keep the nodes of this normalisation in float (--keep-fp32)"}},
      {"B2", {Kind::kPlan, "keep this node in float or bfloat16 (--keep-fp32)"}},
      {"B3", {Kind::kPlan, "accumulate in float"}},
      {"B4",
       {Kind::kRewrite,
        "scale the row of weights by a power of two, and the next linear node by its inverse"}},
      {"B5", {Kind::kPlan, "keep the nodes from the epsilon to the division in float"}},
      {"B6", {Kind::kRewrite, "mask with Where instead of adding a sentinel"}},
      {"B7", {Kind::kRewrite, "scale the queries before the product, not the logits behind it"}},
      {"B8", {Kind::kPlan, "accumulate in float"}},
      {"B9", {Kind::kOption, "switch TF32 off (--no-tf32; NVIDIA_TF32_OVERRIDE=0)"}},
      {"B10", {Kind::kPlan, "keep sizes, positions and ids in integers or float"}},
      {"B11", {Kind::kPlan, "compute the argument, and the function, in float"}},
      {"B12", {Kind::kRewrite, "compute the difference in two passes, or in double"}},
      {"B13", {Kind::kPlan, "type the precision into the graph, with Casts around the node"}},
      {"B14", {Kind::kRewrite, "make the narrow value an output, so that the Casts stay"}},
      {"B15", {Kind::kPlan, "keep this node in float (--keep-fp32)"}},
      {"B19", {Kind::kPlan, "calibrate again, on data like those that come"}},
      {"B20",
       {Kind::kPlan,
        "choose another method of calibration for this value (minimum and maximum, a percentile)"}},
      {"B21", {Kind::kPlan, "calibrate on the range of all batches, whatever their order"}},
      {"B22", {Kind::kPlan, "calibrate this graph, and keep no scales of another one"}},
      {"B23", {Kind::kPlan, "give the value a scale of its own size, or leave it in float"}},
      {"B24", {Kind::kRewrite, "quantise the weights with a scale for each channel"}},
      {"B25", {Kind::kPlan, "quantise the value without symmetry, or leave it in float"}},
      {"B26", {Kind::kRewrite, "quantise what is joined before it is joined, each with its own scale"}},
      {"B27", {Kind::kRewrite, "leave the sum in float, or give its branches scales of their own"}},
      {"B28", {Kind::kOption, "run the node as it is simulated, without integer kernels"}},
      {"B29", {Kind::kOption, "use kernels that sum in 32 bits (VNNI), or weights of 7 bits"}},
      {"B30", {Kind::kPlan, "leave the node in float"}},
      {"B31",
       {Kind::kRewrite, "put a barrier behind the node: make its result an output, or write it otherwise"}},
      {"B32", {Kind::kRewrite, "replace Clip by Max and Min"}},
      {"B33", {Kind::kRewrite, "pad explicitly before pooling"}},
      {"B34", {Kind::kRewrite, "write the resampling with explicit indices"}},
      {"B36", {Kind::kRewrite, "convert the operator to the opset that the engine reads"}},
      {"B43", {Kind::kOption, "run samples one by one, or with another kernel"}},
      {"B42", {Kind::kOption, "build with tactics that are verified, and keep the list of them"}},
      {"B45", {Kind::kRewrite, "replace the operator by the body of its function"}},
      {"B44", {Kind::kCaller, "wait for the stream before its results are read"}},
      {"B46", {Kind::kCaller, "clear or own the buffers between runs"}},
      {"B47", {Kind::kCaller, "build the engine again, from this model"}},
      {"B48", {Kind::kCaller, "give the input as the model declares it"}},
  };
  const auto found = known.find(culprit.failure.code());
  return found == known.end() ? Repair() : found->second;
}

}  // namespace vernier
