#pragma once

#include "vernier/exec/runner.h"

namespace vernier {

// A runner that leaves all to another one, but for what a class derived from this overrides.
class RunnerDecorator : public Runner {
 public:
  // `runner` outlives this.
  explicit RunnerDecorator(Runner& runner) : runner_(&runner) {}

  const std::string& name() const override { return runner_->name(); }
  std::map<std::string, std::string> description() override { return runner_->description(); }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    return runner_->run(inputs, taps);
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
  void limit_time(double seconds) override { runner_->limit_time(seconds); }
  bool can_repeat() const override { return runner_->can_repeat(); }
  Runner& original() override { return runner_->original(); }
  std::string random_generator() const override { return runner_->random_generator(); }

 protected:
  Runner& decorated() const { return *runner_; }
  void decorate(Runner& other) { runner_ = &other; }

 private:
  Runner* runner_;
};

}  // namespace vernier
