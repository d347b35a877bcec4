// The CPU engine as a runner: "cpu".
#pragma once

#include "vernier/engine/engine_on_demand.h"
#include "vernier/engine/session.h"
#include "vernier/exec/runner.h"

namespace vernier {

class EngineRunner : public Runner {
 public:
  // The engine is finished by the first run, for the sizes of its data; what that takes is not timed.
  explicit EngineRunner(std::shared_ptr<EngineOnDemand> engine, std::string name = "cpu");
  // One that is built, or loaded, already.
  explicit EngineRunner(std::shared_ptr<const Engine> engine, std::string name = "cpu");

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override;
  // Taps may name any value; what is fused away, and so never made, is not in the trace.
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  std::vector<double> time(const NamedData& inputs, size_t runs) override;
  std::string random_generator() const override { return kReferenceGenerator; }

  const std::shared_ptr<const Engine>& engine() const { return source_->engine(); }
  // Gives a session of the engine as it is for these data.
  Session& session(const NamedData& inputs);

 private:
  std::shared_ptr<EngineOnDemand> source_;
  std::optional<Session> session_;
  std::string name_;
};

}  // namespace vernier
