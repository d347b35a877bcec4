// Any engine behind a runner is a black box, of which inner values are seen by taps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/exec/runner.h"
#include "vernier/ir/graph.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Another model, or another model file, run by the same engine, within so many seconds where it can be ended.
using MakeRunner = std::function<std::unique_ptr<Runner>(const RunnerModel& model, double seconds)>;

// Floats, as most engines compute: the sums in any order, functions accurate to a few ulp.
NumericsContract contract_of_black_box(const Node& node);

// The outputs of the model, without the inner values that a trace holds, too.
NamedData outputs_of(const Trace& trace);

// Any engine behind a runner: a black box, of which inner values are seen by taps.
class RunnerUnderTest : public EngineUnderTest {
 public:
  // All outlive this. Without `make` the engine runs no other model.
  RunnerUnderTest(Runner& runner, const Model& model, MakeRunner make, StartAgain again = nullptr);
  ~RunnerUnderTest() override;

  const std::string& name() const override { return runner_.name(); }
  NamedData run(const NamedData& inputs) override;
  // By taps; where these are refused or show nothing, by a copy of the model whose inner values are outputs.
  // Where neither shows anything, outputs only.
  ShownRun show(const NamedData& inputs, const ShowOptions& options = {}) override;
  std::unique_ptr<EngineUnderTest> fresh() override { return again_ ? again_() : nullptr; }
  // Floats, as most engines compute, and functions by their formulas.
  NumericsContract assumed_contract(const Node& node) const override;
  std::vector<std::string> intrusive_values() const override;
  std::optional<NamedData> run_other(const Model& model, const NamedData& inputs) override;
  std::unique_ptr<EngineUnderTest> with_model(const Model& model) override;
  void limit_time(double seconds) override;

 private:
  class Copy;

  ShownRun show_values(const NamedData& inputs, const std::vector<std::string>& values,
                       const ShowOptions& options);
  RunnerUnderTest(std::unique_ptr<Copy> own, const Model& model, MakeRunner make, double seconds);

  // One run that shows these values, or those of them that can be seen.
  Trace trace_of(const NamedData& inputs, const std::vector<std::string>& values, ShownRun& shown);
  std::optional<Trace> tapped(const NamedData& inputs, const std::vector<std::string>& values,
                              ShownRun& shown);
  // Gives what a copy of the model shows whose inner values are outputs; nothing if the engine refuses it.
  std::optional<Trace> exposed(const NamedData& inputs, const std::vector<std::string>& values,
                               ShownRun& shown);
  void show_in_batches(const NamedData& inputs, std::vector<std::vector<std::string>> batches,
                       size_t most_bytes, ShownRun& shown);
  const std::map<std::string, size_t>& bytes_of(const std::vector<std::string>& values,
                                                const NamedData& inputs);

  std::unique_ptr<Copy> own_;  // of the runner, where it is not a caller's
  Runner& runner_;
  const Model& model_;
  MakeRunner make_;
  double seconds_ = 0;  // that a run may take; 0: as long as the runner is allowed
  bool can_tap_ = true;
  std::unique_ptr<Copy> copy_;  // the last one that was exposed: it has the state of its runs
  StartAgain again_;
  // The sizes of values are known by those of the inputs.
  std::map<std::pair<std::map<std::string, Dims>, std::vector<std::string>>, std::map<std::string, size_t>>
      bytes_;
};

}  // namespace vernier
