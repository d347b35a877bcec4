// The reference: runs a graph node by node in double (native integers for integers). See
// docs/rooms/reference.md.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

using ops::ReferenceMode;

// Where an engine's kernels round otherwise than its graph says.
struct PlannedRoundings {
  std::set<const Node*> unrounded;  // groups that are computed as one, storing nothing in between
  std::map<const Node*, InnerRoundings> inside;  // what nodes, and groups with their members, round inside
};

struct InterpreterOptions {
  ReferenceMode mode = ReferenceMode::kDeclared;
  // Moves every float that a computing node stores by an ulp or not, at random: the noise that any other
  // order of the same arithmetic would have.
  std::optional<uint64_t> noise_seed = std::nullopt;
  // *Planned*: the declared mode, but with these roundings; noise is that of arithmetic in float whose
  // results are rounded once.
  const PlannedRoundings* planned = nullptr;
  // Values of the main graph, and of groups in it that round what lies between their nodes, that get this
  // content where they are made, by name.
  const std::map<std::string, Datum>* values = nullptr;
  // Gives other content to constants, in place of their own.
  std::function<Tensor(const Value&)> constants = nullptr;
  // Called with every value of the main graph, and of such groups, as it is made, before it may be released.
  std::function<void(const Value&, const Datum&)> observe = nullptr;
  // Called with every node of the main graph that has run: its operands, null where one is left out, and what
  // it made. What this leaves of that is what everything behind the node reads.
  std::function<void(const Node&, std::span<const Datum* const> operands, std::vector<Datum>& results)>
      revise = nullptr;
  bool revises_members = false;  // the nodes of such groups, too, before the group itself
  bool revises_regions =
      false;  // those of control flow, too, each time that they run, before the node around
};

struct ReferenceRun {
  std::vector<Datum> outputs;  // in the order of the graph's outputs; ideal mode: floats as double
  size_t peak_live_bytes = 0;  // the largest set of values alive at once, constants not counted
  double unit_roundoff = 0;    // the largest of all roundings on the way
};

// Runs the graph on inputs given by name. Inputs with a default may be left out. Values are released after
// their last use. Throws bad_input for a missing or unknown input, a wrong type or sizes, and for what
// kernels refuse; names the node. RunLimit (run_limit.h) ends a run that takes too long.
ReferenceRun run_reference(const Graph& graph, const std::map<std::string, Datum>& inputs,
                           const InterpreterOptions& options = {});
// Its outputs by name.
std::map<std::string, Datum> reference_outputs(const Graph& graph, const std::map<std::string, Datum>& inputs,
                                               const InterpreterOptions& options = {});
inline ReferenceRun run_reference(const Model& model, const std::map<std::string, Datum>& inputs,
                                  const InterpreterOptions& options = {}) {
  return run_reference(*model.graph, inputs, options);
}

}  // namespace vernier
