// Makes the engine that is diagnosed once more, with a change: whoever started it knows how.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "vernier/exec/runner.h"
#include "vernier/precision/plan.h"

namespace vernier {

// Says what differs from the engine that is diagnosed; empty fields change nothing.
struct EngineChange {
  RunnerModel model;                           // a rewritten model, in a file of its own
  std::filesystem::path plan;                  // in place of all options of precision
  std::map<std::string, std::string> options;  // of the command line, "deterministic" -> "", added
};

class RepairBuilder {
 public:
  virtual ~RepairBuilder() = default;
  // Throws what starting the engine throws; where a process runs it, a run takes at most so many seconds.
  virtual std::unique_ptr<Runner> make(const EngineChange& change, double seconds) = 0;
  // Whether the engine knows the option, and does not have it yet.
  virtual bool takes(const std::string& option) const = 0;
  // Gives the plan of the engine, or of one that was made here, if it can be built with another plan; null
  // otherwise.
  virtual const PrecisionPlan* plan(Runner& engine) const = 0;
  // The command that runs the changed engine and compares it: what a user types.
  virtual std::string command(const EngineChange& change) const = 0;
};

}  // namespace vernier
