// The first experiment of a diagnosis: what engines answer, as a user has it.
#pragma once

#include <list>

#include "vernier/compare/compare.h"
#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/kept_samples.h"
#include "vernier/diagnose/under_test/watched_runner.h"

namespace vernier {

// Tells of several engines which agree with each other, and which stand alone.
using OutputsBySample = std::map<size_t, NamedData>;

struct ComparedEngine {
  std::string name;
  const ComparisonResult* comparison = nullptr;  // with what all are compared with
  const OutputsBySample* outputs = nullptr;
};

// In the order of the engines; first differences are not known here. Engines that are right agree. Two that
// are wrong agree if they are much nearer to each other than to what is right, on every sample.
std::vector<EngineAgreement> agreements(const std::vector<ComparedEngine>& engines,
                                        const std::string& against, const OutputsBySample& right);

// "'a' and 'b' agree with each other and with 'reference'; 'c' stands alone, from 'n7' on"
std::string agreement_sentence(const std::vector<EngineAgreement>& engines);

struct EngineOutputs {
  DiagnosedRunner engine;
  ComparisonResult comparison;
  OutputsBySample outputs;
  std::optional<WatchedRunner::Failure> failure;  // the first run that ended in an error
};

struct OutputsCompared {
  std::vector<EngineOutputs> engines;  // in the order of the job
  OutputsBySample right;               // of what they are compared with
  std::vector<std::string> failures;   // "onnxruntime, sample 3: …"
  // Compares the reference of these with what came with the data; nothing if nothing came.
  std::optional<ComparisonResult> expected;

  // The engine to look into: the first that runs and is wrong, else the first that fails, else the first.
  const EngineOutputs& root_cause() const;
};

// As `run` does it, so that both give the same verdict.
OutputsCompared compare_outputs(const DiagnosisJob& job, KeptSamples& samples, Stopwatch& watch);

// Which samples fail, of those that the comparison tells.
std::vector<SampleOutcome> outcomes_of(const EngineOutputs& engine, const std::vector<Sample>& samples);

}  // namespace vernier
