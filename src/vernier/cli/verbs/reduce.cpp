#include "vernier/reduce/reduce.h"

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/base/interruption.h"
#include "vernier/cli/checks.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/options/process_options.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/runner_roles.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/reduced_runners.h"
#include "vernier/ir/clone.h"
#include "vernier/reduce/cause.h"
#include "vernier/reduce/repro_folder.h"
#include "vernier/reduce/runner_oracle.h"
#include "vernier/report/reduction_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, against, output;
  ComparisonOptions comparison;
  double budget = ReduceOptions().budget;
  bool anonymise = false, diagnose = false;
};

class ReduceCommand {
 public:
  ReduceCommand(const Options& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        roles_(roles_of(runner_specs(), options.against, "reduce")),
        imported_(open_model(options.model)),
        oracle_(oracle_options()),
        watch_(options.budget) {
    if (roles_.engines.size() > 1)
      throw usage_error("{} engines are given, but one is to be reduced", roles_.engines.size())
          .advise("put --against before the one that is right");
    report_.environment = environment();
    report_.environment["model " + options.model] = hash_to_text(imported_.hash);
    report_.options = {{"model", options.model},
                       {"budget", fmt::format("{}", options.budget)},
                       {"anonymise", options.anonymise ? "yes" : "no"},
                       {"runners", runner_arguments(roles_)}};
    options.comparison.data.add_effective(report_.options);
  }

  int run() {
    const bool is_made = prepare_repro_folder(options_.output, options_.model);
    take_interruptions();
    progress_.emplace(common_, std::nullopt);
    try {
      reduce_and_write();
    } catch (const Error&) {
      std::error_code ignored;
      if (is_made) std::filesystem::remove(options_.output, ignored);  // if it is empty
      throw;
    }
    progress_.reset();
    say(common_, reduction_text(report_, common_.verbosity > 0));
    if (!common_.json.empty()) write_file(common_.json, reduction_json(report_));
    return 0;
  }

 private:
  void reduce_and_write() {
    const auto found = failing_case();
    ReduceOptions reducing;
    reducing.budget = options_.budget;
    reducing.anonymise = options_.anonymise;
    reducing.seed = common_.seed;
    reducing.progress = [this](const std::string& step) { progress_->stage(step); };
    limit_runs(found.judgement.symptom);
    report_.reduction = reduce(found.reproduction, found.judgement, oracle_, reducing);
    report_.reduction.seconds = watch_.seconds();
    write();
    if (options_.diagnose) compare_causes(found.reproduction);
  }

  struct FailingCase {
    ReproCase reproduction;
    Judgement judgement;
  };

  RunnerOracleOptions oracle_options() const {
    RunnerOracleOptions result;
    result.engine = reduced_runner(*roles_.engines.front(), common_);
    if (roles_.against != nullptr) result.against = reduced_runner(*roles_.against, common_);
    result.compare = options_.comparison.compare();
    result.derive_bounds = [this](Runner& runner, const NamedData& inputs, const auto& /*outputs alone*/) {
      return bounds_of_reduced(runner, inputs, common_.seed);
    };
    result.seed = common_.seed;
    // A model that takes longer to run once cannot be reduced in that time.
    result.seconds = options_.budget;
    return result;
  }

  // Half of the runs to come hang if the engine hangs: no smaller model has as long as the whole one had.
  void limit_runs(const Symptom& symptom) {
    if (symptom.kind != Symptom::Kind::kHang) return;
    constexpr double kParts = 40, kLeast = 3;  // seconds, in which a process starts
    oracle_.limit_seconds(std::max(kLeast, options_.budget / kParts));
  }

  // The first sample on which the engine fails. Throws bad_input if there is none.
  FailingCase failing_case() {
    constexpr size_t kMostSamples = 16;
    const auto source = options_.comparison.data.open(imported_.model, common_.seed);
    size_t samples = 0;
    std::string reason;
    while (auto sample = samples < kMostSamples ? source->next() : std::nullopt) {
      progress_->stage(fmt::format("sample {}", samples));
      ReproCase reproduction{clone(imported_.model), sample->inputs};
      try {
        Judgement judgement = oracle_.judge_file(options_.model, reproduction);
        if (judgement.symptom.kind != Symptom::Kind::kNone)
          return {std::move(reproduction), std::move(judgement)};
        if (!judgement.notes.empty()) reason = judgement.notes.front();
        ++samples;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kUsage || !source->withdraw(error)) throw;
      }
    }
    progress_.reset();
    throw bad_input("nothing is to be reduced: the engine does not fail on {} sample{}{}", samples,
                    samples == 1 ? "" : "s", reason.empty() ? "" : " (" + reason + ")")
        .in_file(options_.model)
        .advise(
            "`vernier run` with the same runners and data shows the verdict; give the data on which it "
            "fails, "
            "and --rtol where it fails only since no rounding explains it");
  }

  void write() {
    const Reduction& reduction = report_.reduction;
    ReproFiles files;
    files.symptom = reduction.judgement.symptom;
    files.inputs = reduction.result.inputs;
    files.expected = reduction.judgement.expected;
    files.actual = reduction.judgement.actual;
    files.tolerances = reduction.judgement.tolerances;
    files.against = roles_.against == nullptr
                        ? "the reference of Vernier"
                        : repro_engine(*roles_.against, common_, options_.anonymise).name;
    files.engine = repro_engine(*roles_.engines.front(), common_, options_.anonymise);
    files.arguments = runner_arguments(roles_) + tolerance_arguments();
    files.versions = oracle_.descriptions();
    files.versions["vernier"]["version"] = VERNIER_VERSION;
    files.versions["vernier"]["cpu"] = report_.environment["cpu"];
    report_.folder = options_.output;
    report_.files = write_repro_folder(options_.output, reduction, files);
  }

  // Outputs that an option names may be gone: then what it says counts for all.
  std::string tolerance_arguments() const {
    const Tolerances now =
        tolerances_for(*report_.reduction.result.model.graph, oracle_.options().compare.tolerances);
    std::string text;
    const auto add = [&](const char* name, const ToleranceOption& option) {
      if (option.general) text += fmt::format(" {} {:g}", name, *option.general);
      for (const auto& [value, tolerance] : option.named)
        text += fmt::format(" {} {}", name, quoted_for_shell(fmt::format("{}:{:g}", value, tolerance)));
    };
    add("--atol", now.atol);
    add("--rtol", now.rtol);
    return text;
  }

  void compare_causes(const ReproCase& whole) {
    progress_->stage("diagnosis");
    const RunnerOracleOptions& options = oracle_.options();
    CauseJob job{options.engine, options.against, options.compare, 0.2 * options_.budget, common_.seed};
    ReductionCauses causes;
    causes.before = cause_of(options_.model, whole, job);
    job.compare.tolerances =
        tolerances_for(*report_.reduction.result.model.graph, options.compare.tolerances);
    causes.after =
        cause_of(std::filesystem::path(options_.output) / "model.onnx", report_.reduction.result, job);
    report_.causes = std::move(causes);
  }

  const Options& options_;
  const CommonOptions& common_;
  RunnerRoles roles_;
  ImportedModel imported_;
  RunnerOracle oracle_;
  const Stopwatch watch_;
  ReductionReport report_;
  std::optional<Progress> progress_;
};

}  // namespace

std::function<int()> declare_reduce(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("-o,--output", options->output, "the folder to write: model, inputs, outputs and scripts")
      ->required()
      ->type_name("FOLDER")
      ->check(must_not_be_empty);
  declare_against(app, options->against);
  options->comparison.declare(app);
  app.add_option("--budget", options->budget,
                 "seconds from the verdict on the whole model on, after which nothing more is tried")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  app.add_flag("--anonymise", options->anonymise,
               "replace weights by random ones of the same statistics, and names by plain ones, where the "
               "verdict stays");
  app.add_flag("--diagnose", options->diagnose,
               "diagnose the whole model and what is left of it, and say whether both have the same cause");
  app.footer(
      "One runner is the engine that goes wrong. What is found until the budget is spent, or until Ctrl-C, "
      "is written.\n" +
      runner_help() + "\n" + preprocess_help());
  return [options, &common] { return ReduceCommand(*options, common).run(); };
}

}  // namespace vernier
