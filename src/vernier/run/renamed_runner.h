#pragma once

#include <memory>

#include "vernier/exec/runner.h"

namespace vernier {

// A runner under another name, for commands where one engine runs several models.
class RenamedRunner : public Runner {
 public:
  RenamedRunner(std::unique_ptr<Runner> runner, std::string name)
      : runner_(std::move(runner)), name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return runner_->description(); }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    Trace trace = runner_->run(inputs, taps);
    trace.runner = name_;
    return trace;
  }

  std::vector<double> time(const NamedData& inputs, size_t runs) override {
    return runner_->time(inputs, runs);
  }
  std::optional<Trace> run_with_noise(const NamedData& inputs, const std::vector<std::string>& taps,
                                      uint64_t seed) override {
    return runner_->run_with_noise(inputs, taps, seed);
  }
  std::optional<Trace> run_with_values(const NamedData& inputs, const std::vector<std::string>& taps,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override {
    return runner_->run_with_values(inputs, taps, values, noise_seed);
  }
  Runner& original() override { return runner_->original(); }
  void limit_time(double seconds) override { runner_->limit_time(seconds); }
  bool can_repeat() const override { return runner_->can_repeat(); }
  std::string random_generator() const override { return runner_->random_generator(); }

 private:
  std::unique_ptr<Runner> runner_;
  std::string name_;
};

}  // namespace vernier
