#include "vernier/diagnose/hazards/expected_values.h"

#include <fmt/ranges.h>

#include "vernier/diagnose/bounds/error_split.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/hazards/kept_digits.h"
#include "vernier/diagnose/under_test/recording_under_test.h"

namespace vernier {

namespace {

constexpr double kMuchNearer = 0.1;
constexpr const char* kNotTheEngine = "not the engine but the model is wrong";

NamedData expected_outputs(const ExpectedValuesJob& job) {
  NamedData outputs;
  for (const Value* output : job.model.graph->outputs) {
    const auto found = job.sample.expected->find(output->name);
    if (found != job.sample.expected->end()) outputs[output->name] = found->second;
  }
  return outputs;
}

// Values that could not be compared: another type or size, or an output that is not there.
std::optional<RootCause> unlike_the_model(const ComparisonResult& comparison) {
  RootCause root_cause;
  std::vector<std::string> reasons;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.verdict != Verdict::kFail || tensor.metrics.elements > 0) continue;
    root_cause.values.push_back(tensor.value);
    for (const std::string& reason : tensor.reasons)
      reasons.push_back(fmt::format("'{}': {}", tensor.value, reason));
  }
  if (root_cause.values.empty() || reasons.empty()) return std::nullopt;
  root_cause.failure = FailureClass(48);
  root_cause.confidence = 1;
  root_cause.share = 1;
  root_cause.sentence = fmt::format(
      "not the engine: what came with the data is not what the model declares: {}", fmt::join(reasons, "; "));
  root_cause.evidence.push_back({"expected values", static_cast<double>(reasons.size()), reasons.front()});
  root_cause.repair = {Repair::Kind::kCaller,
                       "write the expected values again, in the types and sizes of the model's outputs"};
  return root_cause;
}

// The evidence that all root causes here have in common.
RootCause begin_root_cause(const ExpectedValuesJob& job) {
  RootCause root_cause;
  root_cause.failure = FailureClass(16);
  root_cause.share = 1;
  root_cause.confidence = 0.7;
  for (const TensorComparison& tensor : job.comparison.tensors) {
    if (tensor.verdict != Verdict::kFail || !tensor.metrics.distances) continue;
    const double off = tensor.metrics.distances->relative_l2;
    if (tensor.is_output || root_cause.values.empty()) root_cause.values.push_back(tensor.value);
    root_cause.evidence.push_back(
        {"expected values", off,
         fmt::format("'{}' of {} is {:.2g} off what came with the data (relative L2)", tensor.value,
                     job.against, off)});
  }
  return root_cause;
}

// Outputs that the model has without any of the roundings that it declares.
bool is_cured_without_roundings(const ExpectedValuesJob& job, const NamedData& expected, Stopwatch& watch) {
  InterpreterOptions options;
  options.mode = ReferenceMode::kIdeal;
  const auto ideal = watch.time("the model without roundings", 1,
                                [&] { return run_reference(job.model, job.sample.inputs, options); });
  NamedData outputs;
  for (size_t i = 0; i < ideal.outputs.size(); ++i)
    outputs[job.model.graph->outputs[i]->name] = ideal.outputs[i];
  return bounded_distance(outputs, expected, expected) <=
         kMuchNearer * bounded_distance(job.right, expected, expected);
}

// Takes the values for those of an engine that is sound: where it would err, the model does.
void find_place(const ExpectedValuesJob& job, RootCause& root_cause, Stopwatch& watch) {
  const std::set<std::string> outputs = [&] {
    std::set<std::string> names;
    for (const Value* output : job.model.graph->outputs) names.insert(output->name);
    return names;
  }();
  RecordingUnderTest framework("what came with the data", job.model, [&](const NamedData&) {
    Trace trace;
    for (const auto& [name, datum] : *job.sample.expected)
      trace.entries.push_back({name, datum, outputs.contains(name), ElementType::kUndefined, {}});
    return trace;
  });
  const ShownRun shown = framework.show(job.sample.inputs);
  SameInputOptions options;
  options.is_over = [&] { return watch.is_over(); };
  const SameInputCheck check = watch.time("expected values, node by node", 1, [&] {
    return check_on_own_inputs(framework, shown, job.sample.inputs, options);
  });
  if (check.flagged_nodes.empty()) return;
  const FlaggedNode& first = check.flagged_nodes.front();
  const auto nodes = first.onnx_nodes();
  const auto causes = root_causes_of(check, {shown, job.sample.inputs}, 1, watch);
  constexpr double kSure = 0.5;
  if (!causes.empty() && causes.front().failure.is_explained() && causes.front().confidence >= kSure) {
    const RootCause& cause = causes.front();
    root_cause.nodes = cause.nodes;
    root_cause.confidence = std::max(0.9, cause.confidence);
    for (const Evidence& each : cause.evidence) {
      if (each.experiment == "reproduction") root_cause.evidence.push_back(each);
    }
    root_cause.evidence.push_back(
        {"underlying cause", cause.confidence,
         fmt::format("what came with the data is what the model makes, were it that {} "
                     "({}, {})",
                     cause.sentence, cause.failure.code(), cause.failure.title())});
  } else if (job.sample.expected->size() > outputs.size() || nodes.size() == 1) {
    root_cause.nodes = nodes;
    root_cause.confidence = 0.9;
  }
  const Value* value = first.node->output(first.output);
  if (value != nullptr && job.sample.expected->size() > outputs.size())
    root_cause.evidence.push_back(
        {"expected values, node by node", static_cast<double>(check.nodes),
         fmt::format("'{}' is the first that the model does not make of what came with "
                     "the data before it",
                     value->name)});
}

// Blames the other side: another engine, or a reference that reads the model otherwise.
RootCause blame_other(const ExpectedValuesJob& job, RootCause root_cause) {
  root_cause.sentence = fmt::format("the reference lies: {} makes what came with the data, and {} does not",
                                    job.engine, job.against);
  root_cause.confidence = 0.9;
  root_cause.repair = {Repair::Kind::kNone,
                       fmt::format("compare with what came with the data, and not with {}", job.against)};
  return root_cause;
}

// The types that the model declares are too narrow for what it was exported from.
RootCause blame_types(const ExpectedValuesJob& job, RootCause root_cause) {
  root_cause.confidence = 0.9;
  root_cause.sentence = fmt::format(
      "{}: without the roundings of the types that it declares it makes what came "
      "with the data, and with them it does not",
      kNotTheEngine);
  root_cause.repair = {Repair::Kind::kPlan,
                       fmt::format("export the model in float, and narrow it by a plan; {}",
                                   job.against_reference ? "--reference=ideal is what it means"
                                                         : "compare with --reference=ideal")};
  return root_cause;
}

RootCause blame_model(const ExpectedValuesJob& job, RootCause root_cause, Stopwatch& watch) {
  find_place(job, root_cause, watch);
  root_cause.sentence =
      fmt::format("{}: it was exported wrongly{}, for it does not make what came with the data",
                  job.engine_fails ? "the model is wrong, too" : kNotTheEngine,
                  root_cause.nodes.empty() ? "" : fmt::format(", from '{}' on", root_cause.nodes.front()));
  root_cause.repair = {
      Repair::Kind::kNone,
      root_cause.nodes.empty()
          ? "export the model again; inner values of the framework, under the names that they "
            "have in the model, tell from which node on it is wrong"
          : fmt::format("export the model again, with a look at what '{}' was made from",
                        root_cause.nodes.front())};
  return root_cause;
}

}  // namespace

size_t sample_of_expected(const ComparisonResult& comparison) {
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.verdict == Verdict::kFail && tensor.worst) return tensor.worst->sample;
  }
  return 0;
}

std::optional<RootCause> judge_expected_values(const ExpectedValuesJob& job, Stopwatch& watch) {
  if (job.comparison.verdict != Verdict::kFail || !job.sample.expected) return std::nullopt;
  if (auto unlike = unlike_the_model(job.comparison)) return unlike;
  const NamedData expected = expected_outputs(job);
  RootCause root_cause = begin_root_cause(job);
  if (is_cured_without_roundings(job, expected, watch)) return blame_types(job, std::move(root_cause));
  const bool engine_makes_them = job.engine_fails && job.outputs != nullptr &&
                                 bounded_distance(*job.outputs, expected, expected) <=
                                     kMuchNearer * bounded_distance(job.right, expected, expected);
  if (engine_makes_them) return blame_other(job, std::move(root_cause));
  if (job.against_reference) return blame_model(job, std::move(root_cause), watch);
  root_cause.sentence =
      fmt::format("the reference lies: {} does not make what came with the data", job.against);
  return root_cause;
}

namespace {

// The evidence is what the finding would be if this engine were the one to be diagnosed.
RootCause as_lie(RootCause found, const std::string& engine) {
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
std::vector<RootCause> unseen_lie(const LyingReferenceJob& job, const ShownRun& shown,
                                  const std::string& engine) {
  const auto split =
      split_error(job.model, *job.engine.tested, shown, job.inputs, shown.values, false, job.seed);
  for (const ErrorSplit& each : split) {
    if (each.needs <= each.bound) continue;
    RootCause root_cause;
    root_cause.values = {each.output};
    root_cause.failure = FailureClass(16);
    root_cause.confidence = 0.5;
    root_cause.share = 1;
    root_cause.sentence =
        fmt::format("the reference lies: '{}' of {} is {}", each.output, engine, each.sentence);
    root_cause.evidence.push_back({"error split", each.needs, each.sentence});
    return {root_cause};
  }
  return {};
}

// It leaves out roundings that the model declares, and the engine that is diagnosed does not.
std::vector<RootCause> lie_of_digits(const LyingReferenceJob& job, const std::string& engine,
                                     Stopwatch& watch) {
  const auto kept = kept_digits(job.model, job.inputs, job.right, watch);
  if (!kept) return {};
  const NamedData declared = reference_outputs(*job.model.graph, job.inputs);
  const double own = bounded_distance(job.outputs, declared, declared);
  if (!(own < bounded_distance(job.right, declared, declared) / 2)) return {};
  return {as_lie(root_cause_of(*kept), engine)};
}

}  // namespace

std::vector<RootCause> lying_reference(const LyingReferenceJob& job, Stopwatch& watch) {
  EngineUnderTest& tested = *job.engine.tested;
  const ShownRun before = watch.time("inner values of the other engine", 1,
                                     [&] { return tested.show(job.other); }),
                 shown = watch.time("inner values of the other engine", 1,
                                    [&] { return tested.show(job.inputs); });
  const SameInputCheck check =
      watch.time("same inputs", 1, [&] { return check_on_own_inputs(tested, shown, job.inputs); });
  constexpr size_t kMost = 8;
  auto found = root_causes_of(check, {shown, job.inputs, &before, &job.other}, kMost, watch);
  for (RootCause& root_cause : found) root_cause = as_lie(std::move(root_cause), tested.name());
  if (found.empty()) found = unseen_lie(job, shown, tested.name());
  return found.empty() ? lie_of_digits(job, tested.name(), watch) : found;
}

}  // namespace vernier
