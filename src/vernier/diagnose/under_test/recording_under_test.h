#pragma once

#include "vernier/diagnose/under_test/runner_under_test.h"

namespace vernier {

// A run that was recorded: of each sample what was recorded is there, and no more.
class RecordingUnderTest : public EngineUnderTest {
 public:
  // The trace of a recorded sample whose inputs are these; throws where there is none.
  using FindTrace = std::function<Trace(const NamedData& inputs)>;

  // `model` outlives this.
  RecordingUnderTest(std::string name, const Model& model, FindTrace find)
      : name_(std::move(name)), model_(model), find_(std::move(find)) {}

  const std::string& name() const override { return name_; }
  NamedData run(const NamedData& inputs) override;
  ShownRun show(const NamedData& inputs, const ShowOptions& options = {}) override;
  NumericsContract assumed_contract(const Node& node) const override;
  bool can_run() const override { return false; }

 private:
  std::string name_;
  const Model& model_;
  FindTrace find_;
};

}  // namespace vernier
