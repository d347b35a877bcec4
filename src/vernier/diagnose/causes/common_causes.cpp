#include <algorithm>
#include <map>

#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

// Products by constants, in groups as well.
bool has_weights(const Node& node) {
  for (const auto& [name, region] : node.regions) {
    for (const auto& member : region->nodes()) {
      if (has_weights(*member)) return true;
    }
  }
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr || (def->traits & ops::kContraction) == 0) return false;
  return node.input(1) != nullptr && node.inputs[1]->is_constant();
}

std::optional<std::string> call_of(const std::string& node, const std::map<std::string, std::string>& calls) {
  for (size_t end = node.find('/'); end != std::string::npos; end = node.find('/', end + 1)) {
    if (calls.contains(node.substr(0, end))) return node.substr(0, end);
  }
  return std::nullopt;
}

}  // namespace

void join_wrong_weights(const ShownRun& shown, const SameInputCheck& check,
                        std::vector<RootCause>& root_causes) {
  constexpr double kNearlyAll = 0.8;
  constexpr size_t kFewest = 3;
  const size_t kept = SameInputOptions().most;
  size_t weighted = 0;
  for (const auto& node : shown.graph->nodes()) weighted += has_weights(*node) ? 1 : 0;
  if (weighted < kFewest) return;
  std::vector<std::string> nodes;
  size_t wrong = 0;
  for (const FlaggedNode& flagged : check.flagged_nodes) {
    if (!has_weights(*flagged.node)) continue;
    ++wrong;
    const auto more = flagged.onnx_nodes();
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  const auto other =
      static_cast<double>(std::count_if(root_causes.begin(), root_causes.end(), [](const RootCause& each) {
        return !each.failure.is_explained() || each.failure == FailureClass(47);
      }));
  if (static_cast<double>(wrong) < kNearlyAll * static_cast<double>(std::min(weighted, kept)) ||
      static_cast<double>(wrong) < kNearlyAll * static_cast<double>(check.flagged_nodes.size()) ||
      other < kNearlyAll * static_cast<double>(root_causes.size()))
    return;
  RootCause made;
  made.nodes = std::move(nodes);
  for (const Value* output : shown.graph->outputs) made.values.push_back(output->name);
  made.failure = FailureClass(47);
  made.sentence = fmt::format(
      "{} of {} nodes with weights are wrong, and hardly any without: the weights are those of another "
      "model",
      wrong, weighted);
  made.confidence = 0.8;
  made.share = 1;
  made.evidence = {
      {"same inputs", static_cast<double>(wrong) / static_cast<double>(weighted), made.sentence}};
  made.repair = repair_of(made);
  root_causes = {std::move(made)};
}

void blame_precision_for_epsilons(std::vector<RootCause>& root_causes) {
  const FailureClass precision(13), epsilon(5);
  constexpr int64_t kSeveral = 2;
  const auto is_other = [&](const RootCause& root_cause) { return root_cause.failure == precision; };
  if (std::count_if(root_causes.begin(), root_causes.end(), is_other) < kSeveral) return;
  for (RootCause& root_cause : root_causes) {
    if (root_cause.failure != epsilon) continue;
    root_cause.failure = precision;
    root_cause.sentence += ", by the precision that its neighbours are computed in";
    root_cause.repair = repair_of(root_cause);
  }
}

void name_custom_operators(const Graph& graph, const std::map<std::string, std::string>& calls,
                           std::vector<RootCause>& root_causes) {
  if (calls.empty()) return;
  size_t inside = 0;
  for (const auto& node : graph.nodes()) inside += call_of(node->name, calls) ? 1 : 0;
  if (2 * inside > graph.nodes().size() && inside > 1) return;
  for (RootCause& root_cause : root_causes) {
    const auto call = root_cause.nodes.empty() ? std::nullopt : call_of(root_cause.nodes.front(), calls);
    if (!call) continue;
    if (root_cause.failure.is_explained())
      root_cause.rejected.insert(
          root_cause.rejected.begin(),
          {root_cause.failure, 0, "it is how the operator goes wrong: " + root_cause.sentence});
    root_cause.nodes.insert(root_cause.nodes.begin(), *call);
    root_cause.failure = FailureClass(45);
    root_cause.confidence = std::max(root_cause.confidence, 0.8);
    root_cause.sentence =
        fmt::format("'{}', an operator of the model's own ({}), does not make what its function says", *call,
                    calls.at(*call));
    root_cause.repair = repair_of(root_cause);
  }
}

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

Repair repair_of(const RootCause& root_cause) {
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
      {"B24", {Kind::kRewrite, "quantize the weights with a scale for each channel"}},
      {"B25", {Kind::kPlan, "quantize the value without symmetry, or leave it in float"}},
      {"B26", {Kind::kRewrite, "quantize what is joined before it is joined, each with its own scale"}},
      {"B27", {Kind::kRewrite, "leave the sum in float, or give its branches scales of their own"}},
      {"B28", {Kind::kOption, "run the node as it is simulated, without integer kernels"}},
      {"B29",
       {Kind::kOption,
        "use kernels that sum in 32 bits (VNNI; of ONNX Runtime, session.x64quantprecision=1), or weights of "
        "7 bits"}},
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
  const auto found = known.find(root_cause.failure.code());
  return found == known.end() ? Repair() : found->second;
}

}  // namespace vernier
