// The one way from a model to an engine, for all verbs and interfaces: built, tuned for its sizes, judged,
// and built with less where tactics that approximate are too much for it.
#pragma once

#include "vernier/compile/compiler.h"
#include "vernier/engine/engine_on_demand.h"
#include "vernier/proof/proof.h"

namespace vernier {

// Whether the engine is compared with what its plan promises.
enum class Judge : uint8_t {
  kAlways,
  kApproximations,  // only if a tactic approximates: for callers that compare the engine themselves
  kNever,
};

struct BuiltEngine {
  std::shared_ptr<const Engine> engine;
  std::optional<Certificate> certificate;  // nothing where the engine was not judged
  std::vector<std::string> notes;          // sizes that nobody gave; what was given up, and what that costs
  double build_seconds = 0, verdict_seconds = 0;
};

class Builder {
 public:
  // `model` outlives this. Without a timing cache in the options the one of this process is used. Throws as
  // Compiler does.
  Builder(const Model& model, BuildOptions options);

  // Before it is tuned: graph and types are there.
  const std::shared_ptr<const Engine>& engine() const { return made_.engine; }

  // The engine gets a plan for inputs of these types, too, whatever other sizes build() chooses.
  void add_sizes(std::vector<ValueType> inputs) { added_sizes_.push_back(std::move(inputs)); }

  // Tunes the engine for the corners of each profile (the tuned sizes first), and for sizes between them
  // (ShapeProfile::types_between), of which the tactics alone are kept; without profiles for the sizes of the
  // model, where free dimensions are those of the first sample, or chosen (automatic_sizes.h). Each
  // tactic is within its bound, but a deep network may make more of their errors than it tolerates. Then
  // approximate ones are given up where that helps most (keep_tactics), and if the verdict fails again, all.
  // An engine with a fault in it is judged as it is. The same inputs and timing cache give the same engine.
  // Samples as prove() takes them. Throws as Compiler::prepare does; usage_error for a forced tactic
  // that no node offers, unsupported for one that is in quarantine. To be called once.
  BuiltEngine build(std::vector<Sample> samples = {}, Judge judge = Judge::kAlways,
                    const ProofOptions& how = {});

 private:
  template <class Work>
  void timed(const Work& work);
  void choose_sizes();
  void compile();
  void tune_between();
  bool draw_samples();
  void judge(bool provisional);
  bool passes() const;
  void give_up_some();
  void give_up_all();
  void require_forced() const;

  const Model& model_;
  BuildOptions options_;
  std::optional<Compiler> compiler_;
  std::vector<Sample> samples_;
  ProofOptions how_;
  std::vector<std::vector<ValueType>> sizes_, added_sizes_;  // to be tuned at
  PromisedTraces promised_;
  BuiltEngine made_;
};

// An engine that is built when its first data come, for these. It is judged only if it approximates: whoever
// runs it on data compares what comes of it. `model` outlives it. Throws as Builder does, and its engine_for
// as Builder::build.
std::shared_ptr<EngineOnDemand> build_on_demand(const Model& model, BuildOptions options);

}  // namespace vernier
