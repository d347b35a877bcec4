#pragma once

#include <memory>

#include "vernier/exec/runner_decorator.h"

namespace vernier {

// A runner under another name, for commands where one engine runs several models.
class RenamedRunner : public RunnerDecorator {
 public:
  RenamedRunner(std::unique_ptr<Runner> runner, std::string name)
      : RunnerDecorator(*runner), runner_(std::move(runner)), name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    Trace trace = runner_->run(inputs, taps);
    trace.runner = name_;
    return trace;
  }

 private:
  std::unique_ptr<Runner> runner_;
  std::string name_;
};

}  // namespace vernier
