// The CPU engine of a model, which shows the values that are to be quantized as it computes them.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "vernier/engine/session.h"

namespace vernier {

class ObservedEngine {
 public:
  // `model` outlives this. Observed are what int8 needs ranges of (ranged_values), or with `all_floats` all
  // tensors of floats. The engine computes in the types of the model, and nothing that is measured decides
  // how: the same inputs give the same bits.
  ObservedEngine(const Model& model, bool all_floats);

  // Called once for each value of a run. The tensor is of float and row-major, and lasts until `see` returns.
  using See = std::function<void(const std::string& value, const Tensor& tensor)>;
  // Throws what running the model throws, and what `see` throws.
  void run(const NamedData& inputs, const See& see);

  // Values, in the order of the graph. Constants among them are shown in each run, too.
  const std::vector<const Value*>& values() const { return shown_; }
  // Whether axis 1 of the value counts channels: convolutions alone multiply it.
  bool has_channels(const Value& value) const;
  // Contractions in regions of control flow: their values are not observed.
  const std::vector<std::string>& hidden_nodes() const { return hidden_nodes_; }

 private:
  // These values of the model, as it is.
  ObservedEngine(const Model& model, const std::set<std::string>& names);
  void choose_values(bool all_floats);
  void observe_inside(const Model& model);
  void build();
  std::set<std::string> run_once(const NamedData& inputs, std::set<std::string> seen, const See& see);

  Model model_;  // as the passes left it that come before types are chosen
  std::vector<const Value*> values_;
  std::vector<const Value*> shown_;  // these, and those of `inside_`
  std::set<std::string> names_;
  std::vector<std::string> hidden_nodes_;
  std::shared_ptr<const Engine> engine_;
  std::optional<Session> session_;
  // Shows what lies inside of patterns that the passes make one node of, as the gate of a SiLU.
  std::unique_ptr<ObservedEngine> inside_;
};

}  // namespace vernier
