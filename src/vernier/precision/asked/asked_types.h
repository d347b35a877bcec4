// Which types a user asks for, node by node of the model.
#pragma once

#include <map>

#include "vernier/precision/audit.h"
#include "vernier/precision/options.h"
#include "vernier/precision/plan.h"

namespace vernier {

// A pattern asks for a type of those nodes that it can apply to: nodes that compute floats, and for int8
// contractions. The exact name of another node is an order that nothing can follow.
class AskedTypes {
 public:
  AskedTypes() = default;
  // Reads what is asked of the nodes of the model, whose types are inferred. Throws usage_error for what
  // matches no node, and bad_input for a plan file that is none.
  AskedTypes(const PrecisionOptions& options, const Graph& model);
  // Takes what a user or a search set in the plan.
  explicit AskedTypes(PrecisionPlan plan) : plan_(std::move(plan)) {}

  // Null where nobody asks. Of a node that stands for several, the last of the options that one of them
  // matches.
  const LayerType* layer(const Node& node) const { return find(layers_, node); }
  const LayerType* output(const Node& node) const { return find(outputs_, node); }

  // Whether it must become a node of f32 before rules can do as asked: the model declares it as f16, bf16 or
  // f64, and something else is asked for.
  bool wants_other_floats(const Node& node) const;
  // Whether anything is asked of the node.
  bool concerns(const Node& node) const;
  // Whether any node is asked for.
  bool empty() const { return layers_.asked.empty() && outputs_.asked.empty() && plan_.layers.empty(); }

  // "--layer-precisions '*:f16' leaves out 6 of the 14 nodes that it matches, …"
  const std::vector<std::string>& notes() const { return notes_; }
  // Nodes that were named exactly and cannot be done as asked.
  const PrecisionAudit& impossible() const { return impossible_; }

 private:
  // The options of one kind, and which of them counts for a node.
  struct Asked {
    const char* option;
    std::vector<LayerType> list = {};
    std::map<std::string, size_t> asked = {};
  };

  using Nodes = std::map<std::string, std::vector<const Node*>>;  // by name
  void add(Asked& kind, const Nodes& nodes);
  void leave_out(const Asked& kind, size_t which, const std::vector<const Node*>& left, size_t matched);
  static const LayerType* find(const Asked& kind, const Node& node);

  Asked layers_{"--layer-precisions"}, outputs_{"--layer-output-types"};
  PrecisionPlan plan_;
  bool tells_ = true;  // of nodes that were named exactly
  std::vector<std::string> notes_;
  PrecisionAudit impossible_;
};

// Rules must know more of a model than the graph that its rewrites left.

// Holds the model before its rewrites, and what is asked of it.
struct ModelFacts {
  PrecisionPlan declared;
  AskedTypes asked;
};

// A plan by rules tells "as the model declares" of nodes that retype_nodes made f32 because they hand on what
// is computed so: they are told of as such here. Notes how many nodes options like --bf16 do not concern,
// since the model declares them narrower than f32.
void say_what_is_declared(PrecisionPlan& plan, const ModelFacts& facts, const PrecisionOptions& options);

}  // namespace vernier
