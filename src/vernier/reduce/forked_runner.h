// An engine of this process, run in a child process: what crashes or hangs there is a verdict, and not the
// end of this process.
#pragma once

#include <functional>

#include "vernier/exec/runner.h"

namespace vernier {

class ForkedRunner : public Runner {
 public:
  // `make` is called in each child; what it needs outlives this. A child may take so many seconds.
  ForkedRunner(std::string name, std::function<std::unique_ptr<Runner>()> make, double seconds);

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  // Throws what the engine throws, and bad_input where the child crashes or does not end in time.
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  void limit_time(double seconds) override { limit_ = seconds; }
  std::string random_generator() const override { return kReferenceGenerator; }

  // Gives what `work` says of the runner, made in a child of its own. Throws what it throws, and as run()
  // does.
  std::string ask(const std::function<std::string(Runner&)>& work);

 private:
  std::string name_;
  std::function<std::unique_ptr<Runner>()> make_;
  double seconds_, limit_ = 0;
};

}  // namespace vernier
