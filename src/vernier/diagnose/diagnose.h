// The diagnosis of an engine: what its error is made of, where it is made, by which cause, and what proves
// it.
#pragma once

#include <functional>

#include "vernier/data/data_source.h"
#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/repairs/find_repairs.h"
#include "vernier/diagnose/repeats/repeatability.h"
#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/exec/runner.h"

namespace vernier {

// An engine as a runner, for comparisons, and as what can be looked into. Both outlive the diagnosis.
struct DiagnosedRunner {
  Runner* runner = nullptr;
  EngineUnderTest* tested = nullptr;
};

struct DiagnosisJob {
  const Model* model = nullptr;
  // Names the calls that its nodes were before they were inlined (onnx/import.h).
  std::map<std::string, std::string> calls;
  DiagnosedRunner engine;
  // More engines, which are compared with it. The first of all that fails is the one that is looked into.
  std::vector<DiagnosedRunner> others;
  // The engine is compared with this: the reference, or another engine, which may be the one that is wrong.
  Runner* against = nullptr;
  std::optional<DiagnosedRunner> against_engine;  // the same where it is no reference
  CompareOptions compare;
  size_t most_samples = 8;  // that are looked at
  size_t most_root_causes = 8;
  double budget = 60;                            // seconds, after which no further experiment begins
  size_t most_bytes = ShowOptions().most_bytes;  // of inner values that are held at once
  uint64_t seed = 1;
  std::optional<RepairOptions> repair;  // nothing: repairs are named, and not tried
  // Makes an engine of the job once more, with a change; not set: nobody can.
  std::function<std::unique_ptr<RepairBuilder>(const Runner& engine)> repair_builder;
  std::function<void(const std::string& stage)> progress;
  // Called at the end where nothing is wrong but that an engine has nothing that runs the model.
  std::function<void()> unsupported;
};

// Throws as the data do, and what the reference throws. An engine that dies, hangs or refuses is a diagnosis.
Diagnosis diagnose(const DiagnosisJob& job, DataSource& data);

// The one sentence that the user needs, about the engine of that name.
std::string verdict_sentence(const Diagnosis& diagnosis, const std::string& engine,
                             const Repeatability& repeatability);

}  // namespace vernier
