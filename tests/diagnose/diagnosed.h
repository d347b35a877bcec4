// The whole diagnosis of an engine with an error planted in it, on one sample.
#pragma once

#include "diagnose/planted.h"
#include "diagnose/precision_flags.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/under_test/runner_under_test.h"

namespace vernier {

class OneSample : public DataSource {
 public:
  explicit OneSample(NamedData inputs) : inputs_(std::move(inputs)) {}
  std::optional<Sample> next() override {
    if (std::exchange(given_, true)) return std::nullopt;
    return Sample{"one", inputs_, {}, {}};
  }

 private:
  NamedData inputs_;
  bool given_ = false;
};

inline Diagnosis diagnosed(const Model& model, Runner& runner, const NamedData& inputs,
                           const std::optional<RepairOptions>& repair = std::nullopt) {
  RunnerUnderTest tested(runner, model, nullptr);
  ReferenceRunner reference({{}, &model});
  OneSample sample(inputs);
  DiagnosisJob job;
  job.model = &model;
  job.engine = {&runner, &tested};
  job.against = &reference;
  job.repair = repair;
  return diagnose(job, sample);
}

inline Diagnosis diagnosed(const std::string& graph, const NamedData& inputs, const Plant& plant,
                           const std::optional<RepairOptions>& repair = std::nullopt) {
  const Model model = parse_graph(graph);
  PlantedRunner runner(model, plant);
  return diagnosed(model, runner, inputs, repair);
}

// "B17 at top", or "none".
inline std::string first_of(const Diagnosis& diagnosis) {
  if (diagnosis.root_causes.empty()) return "none";
  const RootCause& first = diagnosis.root_causes.front();
  return first.failure.code() + " at " + (first.nodes.empty() ? first.values.at(0) : first.nodes.front());
}

}  // namespace vernier
