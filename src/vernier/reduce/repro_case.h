// A case that is reduced: a model, and inputs on which an engine goes wrong.
#pragma once

#include <optional>
#include <set>

#include "vernier/data/data_source.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct ReproCase {
  Model model;
  NamedData inputs;
};

// Its inputs as the only sample; the case outlives it.
class CaseData : public DataSource {
 public:
  explicit CaseData(const ReproCase& reproduction) : inputs_(reproduction.inputs) {}
  std::optional<Sample> next() override {
    if (std::exchange(is_given_, true)) return std::nullopt;
    return Sample{"the case", inputs_, {}, {}};
  }

 private:
  const NamedData& inputs_;
  bool is_given_ = false;
};

ReproCase copy(const ReproCase& original);

// Nodes, those of regions included.
size_t node_count(const Model& model);
// Bytes of constants, and of the inputs of a run.
size_t constant_bytes(const Model& model);
size_t input_bytes(const NamedData& inputs);

// Removes what no output needs, nodes and inputs alike, gives every input the type of its data, and infers
// the others anew. False if that is no valid model: then the case is of no use.
bool settle(ReproCase& reproduction);

// The nodes as a model of their own. What they read of others becomes inputs, with the content that `known`
// has under their names; what they make for others, or for the model, becomes outputs. Nothing where `known`
// lacks a value, or has one that is no tensor and no input of the model.
std::optional<ReproCase> extract(const Model& model, const std::set<const Node*>& nodes,
                                 const NamedData& known);

// Records what the nodes of the main graph make in one run of the reference, together with the inputs.
// Tensors are set aside in a file. Throws what the reference throws.
NamedData recorded_values(const ReproCase& reproduction);

// A value of the main graph; null if there is none of that name.
Value* find_value(const Graph& graph, std::string_view name);

}  // namespace vernier
