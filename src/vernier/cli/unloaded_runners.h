// Runners that cannot load the model: the others do their work, and each of these is a row of the report.
#pragma once

#include <optional>

#include "vernier/base/error.h"
#include "vernier/cli/options/runner_options.h"

namespace vernier {

struct UnloadedRunner {
  std::string name;
  Error error;

  // "could not load: …"
  std::string text() const;
};

class UnloadedRunners {
 public:
  // As make_runner; null where an engine of others refuses the model, or is not there, which is kept and told
  // on the error output. Throws usage_error, and what Vernier's own runners throw.
  std::unique_ptr<Runner> make(const RunnerSpec& spec, const RunnerModel& model, int threads);
  // Keeps what making a runner has thrown, if it is of that kind; false where it is to be thrown on.
  bool keep(const RunnerSpec& spec, const Error& error);

  const std::vector<UnloadedRunner>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  // The one of that name, null if it loaded or does not exist.
  const UnloadedRunner* find(const std::string& name) const;
  // The exit status of a command of which nothing but this went wrong: 4 if all of these engines do not
  // support the model, else 3.
  int status() const;

 private:
  std::vector<UnloadedRunner> all_;
};

}  // namespace vernier
