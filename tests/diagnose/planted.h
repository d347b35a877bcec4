// An engine in this process with an error planted in the result of a node: what diagnoses are tried on.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/exec/runner.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

// Changes what is right to what an engine makes: the results of a node, to be changed.
using Plant = std::function<void(const Node& node, std::span<const Datum* const> operands,
                                 std::vector<Datum>& results)>;

// Runs the reference with the error in it; shows every value that is asked for.
class PlantedRunner : public Runner {
 public:
  PlantedRunner(const Model& model, Plant plant) : model_(model), plant_(std::move(plant)) {}

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    ++runs;
    const std::set<std::string> wanted(taps.begin(), taps.end());
    Trace trace;
    trace.runner = name_;
    trace.run_id = std::to_string(runs);
    InterpreterOptions options;
    options.revise = plant_;
    options.revises_regions = true;
    options.observe = [&](const Value& value, const Datum& datum) {
      if (wanted.contains(value.name)) trace.entries.push_back(make_trace_entry(value, datum, false));
    };
    auto result = run_reference(model_, inputs, options);
    for (size_t i = 0; i < result.outputs.size(); ++i)
      trace.entries.push_back(
          make_trace_entry(*model_.graph->outputs[i], std::move(result.outputs[i]), true));
    return trace;
  }

  int runs = 0;

 private:
  const Model& model_;
  Plant plant_;
  std::string name_ = "planted";
};

// Adds to one element of the first result of the node of that name.
inline Plant add_to_element(const std::string& node_name, size_t element, double added) {
  return [=](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.name != node_name) return;
    auto values = results[0].tensor.to_doubles();
    values.at(element) += added;
    results[0] = Tensor::from_doubles(results[0].tensor.type(), results[0].tensor.dims(), values);
  };
}

inline Model parse_graph(const std::string& graph) {
  Model model = parse_model("model ir=8 {\n" + graph + "\n}");
  model.opsets = {{"", 17}};
  ops::infer_types(*model.graph);
  return model;
}

inline Tensor wave(Dims dims, double frequency) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(frequency * static_cast<double>(i + 1));
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

}  // namespace vernier
