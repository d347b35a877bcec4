#include "vernier/diagnose/diagnose.h"

#include <algorithm>
#include <cmath>

#include "vernier/backends/reference/run_limit.h"
#include "vernier/base/memory.h"
#include "vernier/diagnose/bounds/error_split.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/failing_node.h"
#include "vernier/diagnose/experiments/inner_look.h"
#include "vernier/diagnose/experiments/opened_regions.h"
#include "vernier/diagnose/experiments/several_engines.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/hazards/amplifiers.h"
#include "vernier/diagnose/hazards/expected_values.h"
#include "vernier/diagnose/hazards/kept_digits.h"
#include "vernier/diagnose/hazards/model_hazards.h"
#include "vernier/diagnose/hazards/quantization_hazards.h"
#include "vernier/diagnose/repeats/repeatability.h"
#include "vernier/diagnose/repeats/runtime_faults.h"

namespace vernier {

namespace {

class DiagnosisRun {
 public:
  DiagnosisRun(const DiagnosisJob& job, DataSource& data)
      : job_(job), watch_(job.budget), samples_(data, job.most_samples, watch_) {}

  Diagnosis run() {
    stage("comparing outputs");
    compared_ = compare_outputs(job_, samples_, watch_);
    // An experiment that the end of the time finds at work gets half as much time again.
    const RunLimit limit(std::max(0.0, watch_.left() + 0.5 * job_.budget));
    engine_ = &compared_.root_cause();
    result_.notes = compared_.failures;
    for (const std::string& reason : engine_->comparison.reasons) result_.notes.push_back(reason);
    if (engine_->failure) attempt("the failing run", watch_, result_.notes, [this] { look_into_failure(); });
    const size_t sample = sample_to_look_at();
    if (engine_->outputs.contains(sample)) {
      if (tested().can_run() && !engine_->failure)
        attempt("repeated runs", watch_, result_.notes, [&] { repeat(sample); });
      attempt("the engine", watch_, result_.notes, [&] { look_into(sample); });
    }
    if (compared_.expected)
      attempt("what came with the data", watch_, result_.notes, [this] { judge_expected(); });
    if (!job_.others.empty()) compare_with_others();
    conclude();
    return std::move(result_);
  }

  // After run(), when no limit of its time holds any more.
  void repair(Diagnosis& diagnosis) const {
    if (diagnosis.root_causes.empty() || !job_.repair) return;
    if (!engine_->engine.tested->can_run()) {
      diagnosis.notes.push_back("a recorded run cannot be repaired: give the engine");
      return;
    }
    const RepairJob job{*job_.model,         *engine_->engine.runner,
                        *job_.against,       samples_.kept(),
                        sample_to_look_at(), job_.compare,
                        job_.seed,           job_.progress};
    try {
      find_repairs(job, *job_.repair, diagnosis);
    } catch (const Error& error) {
      // The findings are worth as much without a repair.
      diagnosis.notes.push_back("repairs could not be looked for: " + error.message());
    }
  }

 private:
  EngineUnderTest& tested() const { return *engine_->engine.tested; }

  void stage(const std::string& text) const {
    if (job_.progress) job_.progress(text);
  }

  void look_into_failure() {
    stage("looking for the node that fails");
    auto found =
        find_failing_node(tested(), *job_.model, engine_->failure->inputs, engine_->failure->message, watch_);
    result_.notes.insert(result_.notes.end(), found.notes.begin(), found.notes.end());
    if (job_.repair_builder && !engine_->failure->unsupported) {
      stage("trying without optimisation");
      const auto known = compared_.right.find(0);
      blame_optimiser(*job_.repair_builder(*engine_->engine.runner), *engine_->failure,
                      known == compared_.right.end() ? nullptr : &known->second, found.root_cause, watch_);
    }
    if (found.root_cause) result_.root_causes.push_back(std::move(*found.root_cause));
  }

  // Judges engines that agree with the model, and a model that does not agree with what came with the data.
  void judge_expected() {
    const size_t sample = sample_of_expected(*compared_.expected);
    const auto right = compared_.right.find(sample);
    if (compared_.expected->verdict != Verdict::kFail || right == compared_.right.end()) return;
    stage("looking at what came with the data");
    const auto outputs = engine_->outputs.find(sample);
    const bool fails = engine_->comparison.verdict == Verdict::kFail;
    const auto found =
        judge_expected_values({*job_.model, *compared_.expected, samples_.kept()[sample], right->second,
                               outputs == engine_->outputs.end() ? nullptr : &outputs->second, fails,
                               engine_->engine.runner->name(), job_.against->name(), !job_.against_engine},
                              watch_);
    if (!found) return;
    // An engine that errs by itself is what the user asked about, and who knows a node says more; but not
    // where all of it rests on what is wrong itself.
    const auto says = [&](const char* words) { return found->sentence.starts_with(words); };
    const bool is_second = !result_.root_causes.empty() && !says("the reference lies") &&
                           (found->nodes.empty() || says("the model"));
    result_.root_causes.insert(is_second ? result_.root_causes.end() : result_.root_causes.begin(), *found);
  }

  // Chooses the sample of the largest error, if one fails.
  size_t sample_to_look_at() const {
    for (const TensorComparison& tensor : engine_->comparison.tensors) {
      if (tensor.verdict == Verdict::kFail && tensor.worst && engine_->outputs.contains(tensor.worst->sample))
        return tensor.worst->sample;
    }
    return engine_->outputs.empty() ? 0 : engine_->outputs.begin()->first;
  }

  void repeat(size_t sample) {
    stage("repeating the run");
    constexpr int64_t kRuns = 5;
    constexpr double kPartOfBudget = 0.02;
    tested().limit_time(std::max(0.1, watch_.left() / kRuns));
    try {
      repeatability_ = watch_.time("repeated runs", kRuns, [&] {
        return check_repeatability(tested(), samples_.kept()[sample].inputs, samples_.other_inputs(sample),
                                   engine_->outputs.at(sample), kPartOfBudget * job_.budget);
      });
      if (repeatability_.runs == 2)
        result_.notes.push_back("a run takes so long that it was repeated once only");
      if (repeatability_.is_repeatable() && !repeatability_.outputs.empty())
        result_.notes.push_back("equal runs differ by roundings: their sums come in another order each time");
    } catch (const Error& error) {
      result_.root_causes.push_back(not_run_again(engine_->outputs.at(sample), error.message()));
    }
  }

  void look_into(size_t sample) {
    const NamedData& inputs = samples_.kept()[sample].inputs;
    stage("looking at inner values");
    const NamedData& plain = engine_->outputs.at(sample);
    const auto known = compared_.right.find(sample);
    const NamedData& right = known == compared_.right.end() ? plain : known->second;
    const auto open = opened(tested(), *job_.model, inputs, plain, right);
    const Model& model = open ? open->model : *job_.model;
    EngineUnderTest& seen = open ? *open->tested : tested();
    if (open) result_.notes.push_back("it is looked at as a model of the branches that are taken");
    InnerLookJob job{&seen, &model, &inputs, samples_.other_inputs(sample), &plain};
    job.right = &right;
    job.is_repeatable = repeatability_.is_repeatable();
    job.fails = fails();
    job.most_bytes = job_.most_bytes;
    InnerLook look = look_at_nodes(job, sample);
    split(look, sample);
    if (!job.fails && is_beyond_rounding()) {
      // The shown values may not belong to that answer.
      job.fails = true;
      look = look_at_nodes(job, sample);
    }
    stage("repeating, restarting");
    attempt("what changes between runs", watch_, result_.notes, [&] {
      find_runtime_faults({*job_.model, tested(), inputs, job.other, engine_->outputs.at(sample),
                           repeatability_, look.check, job.fails},
                          result_.root_causes, watch_);
    });
    name_custom_operators(*job_.model->graph, job_.calls, result_.root_causes);
    if (watch_.is_over()) return;
    if (!result_.root_causes.empty() && is_sound_) split(look, sample);
    const HazardJob hazards{model, look.shown, inputs, plain};
    const bool differs = !result_.root_causes.empty() || (fails() && !within_bounds(result_.split));
    if (differs && repeatability_.is_repeatable())
      attempt("what it does not round", watch_, result_.notes, [&] { keeps_digits_ = rounds_less(hazards); });
    if (keeps_digits_) {
      result_.root_causes.clear();
      result_.notes.push_back("it keeps more digits between nodes than the types of the model say");
    }
    attempt("scales", watch_, result_.notes, [&] { look_at_scales(sample, look.shown); });
    attempt("the model", watch_, result_.notes, [&] { look_beyond(hazards, job.other, *job.right); });
  }

  // Finds the nodes that are wrong on what they read, and why.
  InnerLook look_at_nodes(const InnerLookJob& job, size_t sample) {
    InnerLook look = look_inside(job, watch_);
    result_.notes.insert(result_.notes.end(), look.notes.begin(), look.notes.end());
    if (!look.check.flagged_nodes.empty())
      first_difference_ = difference_of(look.check.flagged_nodes.front());
    stage("simulating causes");
    FurtherRuns further(*job.tested, samples_.beside(sample), job_.seed, watch_);
    const FlaggedRuns runs{look.shown,          *job.inputs,    look.before ? &*look.before : nullptr,
                           &look.inputs_before, &look.changing, tested().can_run() ? &further : nullptr};
    for (RootCause& root_cause : root_causes_of(look.check, runs, job_.most_root_causes, watch_))
      result_.root_causes.push_back(std::move(root_cause));
    join_wrong_weights(look.shown, look.check, result_.root_causes);
    blame_precision_for_epsilons(result_.root_causes);
    return look;
  }

  // Tells whether nothing is known against an engine, except that the tolerance of its types is too wide for
  // it.
  bool is_beyond_rounding() const {
    return result_.root_causes.empty() && repeatability_.is_repeatable() && !job_.against_engine &&
           !by_user() && !rests_on_ties(engine_->comparison) && vernier::is_beyond_rounding(result_.split);
  }

  bool fails() const { return engine_->comparison.verdict == Verdict::kFail || is_beyond_rounding(); }

  // Before what takes long: without it nobody can say whether rounding explains the outputs.
  void split(const InnerLook& look, size_t sample) {
    if (watch_.is_over()) return;
    stage("propagating roundings");
    is_sound_ = result_.root_causes.empty();
    PropagationOptions limits;
    limits.most_bytes = job_.most_bytes / 4;  // inner values may still be held
    constexpr double kPartOfBudget = 0.5;     // of what is left: causes are looked for after it
    const double least_left = (1 - kPartOfBudget) * watch_.left();
    limits.is_over = [this, least_left] { return watch_.is_over() || watch_.left() <= least_left; };
    attempt("what roundings make of the outputs", watch_, result_.notes, [&] {
      result_.split = watch_.time("error split", 1, [&] {
        return split_error(*job_.model, tested(), look.shown, samples_.kept()[sample].inputs,
                           engine_->outputs.at(sample), is_sound_, job_.seed, limits);
      });
    });
    if (limits.is_over() && !result_.split.empty())
      result_.notes.push_back(
          "the time for propagated roundings was over before all draws: bounds are those of few");
  }

  // Where the engine is sound: what it is compared with, or the model, may be at fault.
  void look_beyond(const HazardJob& hazards, const NamedData& other, const NamedData& right) {
    const auto& root_causes = result_.root_causes;
    const bool explained =
        std::any_of(root_causes.begin(), root_causes.end(),
                    [](const RootCause& root_cause) { return root_cause.failure.is_explained(); });
    if (explained || watch_.is_over()) return;
    stage("looking for what the model makes of rounding");
    std::vector<RootCause> found;
    const bool looks_on = root_causes.empty() && !is_explained_by_quantization(hazards);
    if (root_causes.empty() && job_.against_engine &&
        (engine_->comparison.verdict == Verdict::kFail ||
         !within_bounds(result_.split, right, hazards.outputs)))
      found = lying_reference(
          {*job_.model, *job_.against_engine, hazards.inputs, other, right, hazards.outputs, job_.seed},
          watch_);
    if (found.empty() && root_causes.empty())
      found = dropped_casts(*job_.model, hazards.inputs, hazards.outputs, watch_);
    if (found.empty() && looks_on) found = model_hazards(hazards, watch_);
    if (found.empty() && looks_on &&
        (fails() || engine_->comparison.verdict != Verdict::kPass || rests_on_ties(engine_->comparison)))
      found = amplifiers({hazards.shown, hazards.inputs, hazards.outputs, job_.seed}, watch_);
    if (!found.empty()) result_.root_causes = std::move(found);
  }

  // Whether all that the outputs are off is what quantizing by the plan costs: who asks for int8 is told how
  // much, and not that a node of the model is at fault.
  bool is_explained_by_quantization(const HazardJob& hazards) const {
    if (!hazards.shown.quantized || !within_bounds(result_.split) || explains_everything(result_.split))
      return false;
    return std::all_of(engine_->comparison.tensors.begin(), engine_->comparison.tensors.end(),
                       [](const TensorComparison& tensor) {
                         return is_float(tensor.type) || tensor.verdict == Verdict::kPass;
                       });
  }

  // Whether outputs were accepted only as what follows from decisions that rounding turned over.
  static bool rests_on_ties(const ComparisonResult& comparison) {
    return std::any_of(comparison.tensors.begin(), comparison.tensors.end(),
                       [](const TensorComparison& tensor) { return !tensor.decisions.empty(); });
  }

  void compare_with_others() {
    auto several = compare_engines(compared_, job_.against->name(), samples_, first_difference_,
                                   job_.most_bytes, watch_);
    result_.engines = std::move(several.engines);
    result_.notes.insert(result_.notes.end(), several.notes.begin(), several.notes.end());
  }

  // Looks at what the model itself makes of its scales, whoever runs it, and at those of a plan that costs
  // more than its rounding.
  void look_at_scales(size_t sample, const ShownRun& shown) {
    stage("looking at scales");
    constexpr size_t kMost = 5;
    std::vector<NamedData> samples;  // in their order, in which a calibration meets them
    for (size_t i = 0; i < samples_.kept().size() && samples.size() < kMost; ++i) {
      if (i == sample || samples.size() + 1 < kMost || sample < i)
        samples.push_back(samples_.kept()[i].inputs);
    }
    auto found = quantization_hazards(*job_.model->graph, "the model", samples, watch_);
    if (found.empty() && shown.quantized && result_.root_causes.empty() && fails() &&
        !within_bounds(result_.split))
      found = quantization_hazards(*without_groups(*shown.quantized), "the plan", samples, watch_);
    // The larger one stands first: the model's own error, or that of the engine.
    double of_model = 0, of_engine = 0;
    for (const ErrorSplit& split : result_.split) {
      of_model = std::max(of_model, split.ideal_declared);
      of_engine = std::max(of_engine, split.planned_engine);
    }
    constexpr double kLittle = 0.1;
    const bool first = of_engine < kLittle * of_model;
    result_.root_causes.insert(first ? result_.root_causes.begin() : result_.root_causes.end(), found.begin(),
                               found.end());
  }

  void conclude() {
    result_.verdict = is_beyond_rounding() ? Verdict::kFail : engine_->comparison.verdict;
    const bool looked = !result_.split.empty() && result_.root_causes.empty() &&
                        repeatability_.is_repeatable() && !engine_->failure;
    if (result_.verdict == Verdict::kFail && looked && (within_bounds(result_.split) || keeps_digits_) &&
        !by_user())
      result_.verdict = explains_everything(result_.split) ? Verdict::kMistrusted : Verdict::kPass;
    if (!result_.root_causes.empty() || !repeatability_.is_repeatable())
      result_.verdict = worst(result_.verdict, Verdict::kFail);
    // Data may say too little, or the model may be ill-conditioned: that is no fault of the engine.
    result_.healthy =
        result_.verdict == Verdict::kPass || (result_.verdict == Verdict::kMistrusted && looked);
    if (job_.unsupported && only_lacks_support()) job_.unsupported();
    result_.samples = outcomes_of(*engine_, samples_.kept());
    result_.sentence = verdict_sentence(result_, engine_->engine.runner->name(), repeatability_);
    result_.experiments = watch_.experiments();
    result_.seconds = watch_.seconds();
  }

  // Whether all that is wrong is that engines have nothing that runs the model.
  bool only_lacks_support() const {
    bool any = false;
    for (const EngineOutputs& each : compared_.engines) {
      const bool lacks = each.failure && each.failure->unsupported && each.outputs.empty();
      any = any || lacks;
      if (!lacks && each.comparison.verdict == Verdict::kFail) return false;
    }
    if (engine_->failure) return any && result_.root_causes.size() <= 1;
    return any && result_.healthy;
  }

  // A tolerance that the user gives is the law.
  bool by_user() const {
    const auto& tensors = engine_->comparison.tensors;
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const TensorComparison& tensor) { return tensor.tolerance.by_user; });
  }

  const DiagnosisJob& job_;
  Stopwatch watch_;
  KeptSamples samples_;
  OutputsCompared compared_;
  const EngineOutputs* engine_ = nullptr;  // that is looked into
  Diagnosis result_;
  Repeatability repeatability_;
  bool is_sound_ = false;      // as far as was seen when the error was split
  bool keeps_digits_ = false;  // and is nearer to what the model means than its types are
  std::optional<FirstWrongValue> first_difference_;
};

}  // namespace

Diagnosis diagnose(const DiagnosisJob& job, DataSource& data) {
  const KeptMemory kept;  // from one experiment to the next
  DiagnosisRun run(job, data);
  Diagnosis diagnosis = run.run();
  run.repair(diagnosis);
  return diagnosis;
}

}  // namespace vernier
