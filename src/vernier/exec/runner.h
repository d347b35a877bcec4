// A runner is anything that runs a model; what it yields is a trace. See docs/runner-protocol.md for foreign
// ones.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/compare/trace.h"
#include "vernier/ir/graph.h"

namespace vernier {

// Runners are made for a model: the model as a file, for runners that read it themselves, and as Vernier
// reads it.
struct RunnerModel {
  std::filesystem::path path;
  const Model* model = nullptr;  // outlives the runner
};

class Runner {
 public:
  virtual ~Runner() = default;
  // The name in reports, e.g. "reference=ideal" or "onnxruntime".
  virtual const std::string& name() const = 0;
  // Versions and settings that made the numbers: "engine" -> "onnxruntime 1.31.1", "optimisation" -> "all", …
  virtual std::map<std::string, std::string> description() = 0;
  // Runs one sample. The trace holds every output, and of the values named in `taps` those the runner can
  // show. Throws Error; a child process that dies, hangs or talks nonsense is an Error with what is known of
  // it.
  virtual Trace run(const NamedData& inputs, const std::vector<std::string>& taps) = 0;
  // Seconds of each of `runs` runs on the same inputs, one after the other, without files and without taps:
  // what a benchmark counts. Throws unsupported for runners that cannot be timed.
  virtual std::vector<double> time(const NamedData& /*inputs*/, size_t /*runs*/) {
    throw unsupported("'{}' cannot be timed", name());
  }
  // The same as run() with rounding noise: every stored float moved by an ulp or left, at random. Nothing
  // from runners that cannot.
  virtual std::optional<Trace> run_with_noise(const NamedData& /*inputs*/,
                                              const std::vector<std::string>& /*taps*/, uint64_t /*seed*/) {
    return std::nullopt;
  }
  // The same as run(), but the values of the main graph that `values` names get this content where they are
  // made; what follows is computed from it. With a seed also with rounding noise, in all but these values.
  // Nothing from runners that cannot.
  virtual std::optional<Trace> run_with_values(const NamedData& /*inputs*/,
                                               const std::vector<std::string>& /*taps*/,
                                               const NamedData& /*values*/,
                                               std::optional<uint64_t> /*noise_seed*/) {
    return std::nullopt;
  }
  // Runs that take longer than so many seconds from now on are errors, where there is a process to be ended.
  // Never more than the runner was made with.
  virtual void limit_time(double /*seconds*/) {}
  // Whether run() may be called again with the same inputs, for other taps.
  virtual bool can_repeat() const { return true; }
  // The runner that runs, where this one only has another name for it.
  virtual Runner& original() { return *this; }
  // Names the generator of random operators: two runners of the same one draw the same, node by node. "" if
  // nothing is known of it: ONNX leaves the generator open, even where a node has a seed.
  virtual std::string random_generator() const { return ""; }
};

// This names the generator of Vernier's reference semantics, which its engines share (ops/support/random.h).
inline constexpr const char* kReferenceGenerator = "vernier";

}  // namespace vernier
