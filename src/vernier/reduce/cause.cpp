#include "vernier/reduce/cause.h"

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/diagnose/diagnose.h"

namespace vernier {

std::string cause_of(const std::filesystem::path& path, const ReproCase& reproduction, const CauseJob& job) {
  const RunnerModel model{path, &reproduction.model};
  const auto engine = job.engine(model, job.budget);
  const auto against =
      job.against ? job.against(model, job.budget) : std::make_unique<ReferenceRunner>(model);
  RunnerUnderTest tested(*engine, reproduction.model, job.engine);
  DiagnosisJob diagnosis;
  diagnosis.model = &reproduction.model;
  diagnosis.engine = {engine.get(), &tested};
  diagnosis.against = against.get();
  diagnosis.compare = job.compare;
  diagnosis.budget = job.budget;
  diagnosis.seed = job.seed;
  diagnosis.most_samples = 1;
  CaseData sample(reproduction);
  const Diagnosis found = diagnose(diagnosis, sample);
  return found.root_causes.empty() ? "none" : found.root_causes.front().failure.code();
}

}  // namespace vernier
