#include "vernier/diagnose/hazards/lying_reference.h"

#include "vernier/diagnose/bounds/error_split.h"
#include "vernier/diagnose/causes/culprits.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/hazards/kept_digits.h"

namespace vernier {

namespace {

// What it would be if this engine were the one to be diagnosed is the evidence.
Culprit as_lie(Culprit found, const std::string& engine) {
  found.evidence.push_back(
      {"underlying cause", found.confidence,
       found.failure.is_explained()
           ? fmt::format("{} ({}, {})", found.sentence, found.failure.code(), found.failure.title())
           : found.sentence});
  found.sentence = fmt::format("the reference lies: in {}, {}", engine, found.sentence);
  found.confidence = std::max(found.confidence, 0.5);  // that it is wrong does not hang on the cause
  found.failure = FailureClass(16);
  found.repair = {Repair::Kind::kOption,
                  "compare with --reference, or switch off what that engine optimises or narrows"};
  return found;
}

// Its outputs are wrong, and it does not show where.
std::vector<Culprit> unseen_lie(const LyingReferenceJob& job, const ShownRun& shown,
                                const std::string& engine) {
  const auto split =
      split_error(job.model, *job.engine.subject, shown, job.inputs, shown.values, false, job.seed);
  for (const ErrorSplit& each : split) {
    if (each.needs <= each.bound) continue;
    Culprit culprit;
    culprit.values = {each.output};
    culprit.failure = FailureClass(16);
    culprit.confidence = 0.5;
    culprit.share = 1;
    culprit.sentence =
        fmt::format("the reference lies: '{}' of {} is {}", each.output, engine, each.sentence);
    culprit.evidence.push_back({"error split", each.needs, each.sentence});
    return {culprit};
  }
  return {};
}

// It leaves out roundings that the model declares, and the engine that is diagnosed does not.
std::vector<Culprit> lie_of_digits(const LyingReferenceJob& job, const std::string& engine,
                                   Stopwatch& watch) {
  const auto kept = kept_digits(job.model, job.inputs, job.right, watch);
  if (!kept) return {};
  const NamedData declared = reference_outputs(*job.model.graph, job.inputs);
  const double own = bounded_distance(job.outputs, declared, declared);
  if (!(own < bounded_distance(job.right, declared, declared) / 2)) return {};
  return {as_lie(culprit_of(*kept), engine)};
}

}  // namespace

std::vector<Culprit> lying_reference(const LyingReferenceJob& job, Stopwatch& watch) {
  Subject& subject = *job.engine.subject;
  const ShownRun before = watch.time("inner values of the other engine", 1,
                                     [&] { return subject.show(job.other); }),
                 shown = watch.time("inner values of the other engine", 1,
                                    [&] { return subject.show(job.inputs); });
  const SameInputCheck check =
      watch.time("same inputs", 1, [&] { return check_on_own_inputs(subject, shown, job.inputs); });
  constexpr size_t kMost = 8;
  auto found = culprits_of(check, {shown, job.inputs, &before, &job.other}, kMost, watch);
  for (Culprit& culprit : found) culprit = as_lie(std::move(culprit), subject.name());
  if (found.empty()) found = unseen_lie(job, shown, subject.name());
  return found.empty() ? lie_of_digits(job, subject.name(), watch) : found;
}

}  // namespace vernier
