// Runs what an engine promises: its own graph, at the sizes of each sample, run by the reference. It is
// rounded where the plan rounds: each stored value once; inside a contraction and its epilogue nothing but
// what the contract of its kernel says of operands and of the probabilities of attention.
#pragma once

#include "vernier/engine/engine_on_demand.h"
#include "vernier/engine/session.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Holds what plans promised: by promise, inputs and noise. Engines of other kernels may promise the same.
using PromisedTraces = std::map<std::tuple<uint64_t, uint64_t, std::optional<uint64_t>>, Trace>;

class PlannedRunner : public Runner {
 public:
  // `known` is used and added to, and outlives this; null: every run is one.
  explicit PlannedRunner(std::shared_ptr<const Engine> engine, PromisedTraces* known = nullptr);
  // The plan of an engine that is finished by the first run, for the sizes of its data.
  explicit PlannedRunner(std::shared_ptr<EngineOnDemand> engine);

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override;
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  std::optional<Trace> run_with_noise(const NamedData& inputs, const std::vector<std::string>& taps,
                                      uint64_t seed) override;
  std::optional<Trace> run_with_values(const NamedData& inputs, const std::vector<std::string>& taps,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override;
  std::string random_generator() const override { return kReferenceGenerator; }

 private:
  std::shared_ptr<const Plan> plan_for(const NamedData& inputs);
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps,
            std::optional<uint64_t> noise_seed);
  Trace run(const Plan& plan, const NamedData& inputs, const std::vector<std::string>& taps,
            std::optional<uint64_t> noise_seed, const NamedData* values = nullptr);

  std::shared_ptr<EngineOnDemand> source_;
  PromisedTraces* known_;
  std::optional<Session> session_;
  std::string name_ = "reference=planned";
};

}  // namespace vernier
