// How engines are built, and what a build tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vernier::v1 {

// Says what happens where an engine would compute in other types than its precision plan says.
enum class PrecisionConstraints : uint8_t {
  kObey,    // what does so is not used, and if nothing else serves the engine is not built
  kPrefer,  // it may where nothing else serves
  kNone,    // it may
};

// The types that an engine computes in; without any of these those of the model. docs/precision.md is the
// guide.
struct PrecisionOptions {
  bool bf16 = false, fp16 = false, int8 = false;
  bool int4 = false;                       // weights in blocks of int4, of the nodes that `calibration` names
  bool best = false;                       // whatever this machine computes fast
  bool tf32 = false;                       // on a GPU, products of floats may round their factors to TF32
  std::string layer_precisions = {};       // types of nodes: "node:fp32,/norm/*:bf16,/fc/*:tf32"
  std::string layer_output_types = {};     // of their results, written alike
  std::filesystem::path plan = {};         // a precision plan, a file
  std::filesystem::path calibration = {};  // ranges of values for int8, a file
  PrecisionConstraints constraints = PrecisionConstraints::kObey;
};

// The sizes of an input that an engine is built for; `min` and `max` empty: as `opt`, which it is tuned at.
struct InputSizes {
  std::string input;
  std::vector<int64_t> min = {}, opt, max = {};
};
// A profile names every input that has free dimensions.
using ShapeProfile = std::vector<InputSizes>;

struct BuildOptions {
  std::vector<std::string> disabled_passes = {};  // by name, e.g. "fold-batch-norm"
  bool exact_passes_only = false;                 // no rewrite that may change a bit
  // Inputs with a default may be bound; without this they are constants of the engine, for many exporters
  // list all weights as inputs.
  bool keep_defaults = false;
  bool deterministic = false;  // the same bits for every run, number of threads and build
  size_t workspace = 0;        // bytes of working memory that a run may take; 0: as many as it needs
  PrecisionOptions precision = {};
  // Options of an engine by the names of the command line (`vernier build --help`), flags as "1":
  // {"keep-fp32", "/norm/*"}, {"no-tf32", "1"}. Where a field says something else than by default, it counts.
  // The build throws kUsage for an unknown name, and for a value that is none.
  std::map<std::string, std::string> named = {};
  // Devices beside the CPU, the preferred first: "cuda", which is "cuda:0", "cuda:1", "simulated". What none
  // of them computes the CPU does.
  std::vector<std::string> devices = {};
  // Sizes outside all profiles are refused. None: any sizes run; free dimensions are tuned at 1, or at what
  // the model takes, and other sizes run with the choices made for these.
  std::vector<ShapeProfile> profiles = {};
  // How much is tried before a tactic is chosen. 0: nothing; 1: the timing cache decides; 2 and 3: layouts
  // and tactics; 4: every kernel is verified; 5: and timed at length.
  int optimization_level = 3;
  std::vector<std::string> allowed_tactics = {};  // by name; none: all
  std::vector<std::string> denied_tactics = {};
  // Earlier times are read from this file, and new ones are added to it; none: the build knows what this
  // process has timed.
  std::filesystem::path timing_cache = {};
  // Compare the engine with what it promises, on random inputs (Engine::report). It takes up to some seconds.
  // Without it tactics are still verified one by one, but a network of many may make too much of their
  // errors.
  bool verify = true;
  // Tactics are tried in child processes, copies of this one made by fork: one that crashes, hangs or finds
  // no memory is not used then, and the build goes on. Engine::report has a note of it.
  bool isolate_trials = false;
  // A defect that is put into the engine on purpose, to see that it is found: KIND[@TACTIC][:NODE], as
  // docs/fault-injection.md lists them. Such an engine cannot be saved.
  std::string inject_fault = {};
};

enum class Verdict : uint8_t {
  kPass,
  kMistrusted,   // nothing differs, but it proves little: constant outputs, or values that nothing determines
  kNotCompared,  // the model could not be run on random inputs
  kFail,
  kNotVerified,  // nobody asked for it
};

// Relative L2 distances of an output of the engine; NaN where it was not compared.
struct OutputAccuracy {
  std::string name;
  double planned = 0;   // from what the engine promises: must be rounding noise
  double declared = 0;  // from the model as it is declared: the price of the precision options
  double ideal = 0;     // from the model without any rounding
};

struct BuildReport {
  Verdict verdict = Verdict::kNotVerified;
  std::vector<std::string> reasons;  // of the verdict
  std::vector<OutputAccuracy> outputs;
  std::vector<std::string> notes;  // what the import and the build found worth telling
  double build_seconds = 0, verdict_seconds = 0;
};

}  // namespace vernier::v1
