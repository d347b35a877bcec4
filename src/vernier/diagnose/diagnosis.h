// A diagnosis holds all that `diagnose` says. docs/diagnosis.md teaches reading it; `vernier diagnose --json`
// writes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/compare/compare.h"
#include "vernier/diagnose/failure_class.h"

namespace vernier {

// Holds what was seen, as figure and sentence, and the experiment that showed it.
struct Evidence {
  std::string experiment;
  double figure = 0;
  std::string sentence;
};

// A cause that was tried and leaves more of the error.
struct RejectedCause {
  FailureClass failure;
  double residual = 0;  // the share of the error that it does not explain
  std::string why;
};

// Measures what a repair makes of the error of the outputs, on samples that it was not chosen on.
struct RepairMeasurement {
  double relative_l2_before = 0, relative_l2_after = 0;  // of the output that has the largest
  std::optional<double> cost_percent;  // how much longer a run takes; nothing where nobody could time it
  size_t samples = 0;
  bool passes = false;  // whether the engine passes with it
};

// A repair that was tried and not taken.
struct RejectedRepair {
  std::string what, why;
};

struct Repair {
  enum class Kind : uint8_t { kNone, kPlan, kRewrite, kOption, kCaller };
  Kind kind = Kind::kNone;
  std::string sentence = {};
  std::string file = {};                           // the plan or the model that was written
  std::optional<RepairMeasurement> verified = {};  // nothing: it was not tried
  std::vector<RejectedRepair> rejected = {};       // in the order in which they were tried
};
std::string_view repair_kind_name(Repair::Kind kind);

struct RootCause {
  std::vector<std::string> nodes;  // of the ONNX model, the most likely one first; none: outside of the graph
  std::vector<std::string> values;  // that the nodes make, or the inputs and outputs that are at fault
  FailureClass failure;
  std::string sentence;
  double confidence = 0;  // 0 to 1
  double share = 0;       // of the error of the outputs, 0 to 1
  std::vector<Evidence> evidence;
  std::vector<RejectedCause> rejected;
  Repair repair;
};

// Relative L2 of what lies between an output and what the model means.
struct ErrorSplit {
  std::string output;
  double ideal_declared = 0, declared_planned = 0, planned_engine = 0;
  double needs = 0;                  // engine against the model as declared
  double bound = 0;                  // what the roundings of the plan may make of it
  bool explains_everything = false;  // the bound is as large as the output
  std::string sentence;
};

// Where what an engine makes begins to differ.
struct FirstWrongValue {
  std::string value;
  std::vector<std::string> nodes;  // that make it
};

// One of several engines.
struct EngineAgreement {
  std::string name;
  Verdict verdict = Verdict::kNotCompared;
  std::vector<std::string> agrees_with;             // other engines, and what all are compared with
  std::optional<FirstWrongValue> first_difference;  // nothing if none is known
};

struct SampleOutcome {
  size_t sample = 0;
  std::string origin;
  bool fails = false;
};

struct Experiment {
  std::string name;
  int64_t runs = 0;
  double seconds = 0;
};

struct Diagnosis {
  Verdict verdict = Verdict::kNotCompared;
  bool healthy = false;
  std::string sentence;  // what the user needs to know
  std::vector<ErrorSplit> split;
  std::vector<RootCause> root_causes;    // by rank
  std::vector<EngineAgreement> engines;  // if there are several
  std::vector<SampleOutcome> samples;    // of the engine that is diagnosed
  std::vector<Experiment> experiments;
  std::vector<std::string> notes;  // what could not be learnt, and why
  double seconds = 0;
};

}  // namespace vernier
