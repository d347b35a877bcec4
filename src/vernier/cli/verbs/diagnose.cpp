#include "vernier/diagnose/diagnose.h"

#include "vernier/backends/process/saved_run.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/base/interruption.h"
#include "vernier/cli/engine_repair_builder.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/runner_roles.h"
#include "vernier/cli/unloaded_runners.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/inner_comparison.h"
#include "vernier/diagnose/under_test/built_engine.h"
#include "vernier/diagnose/under_test/recording_under_test.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/page/overlays.h"
#include "vernier/report/diagnosis_report.h"
#include "vernier/report/report.h"
#include "vernier/run/renamed_runner.h"

namespace vernier {

namespace {

struct Options {
  std::string model, against;
  ComparisonOptions comparison;
  PageOptions page;
  double budget = DiagnosisJob().budget;
  double inner_memory = 1;  // GiB
  bool repair = false;
  std::string repair_dir;  // empty: see repair_folder
};

// Where repairs are written: beside the report, if there is one.
std::filesystem::path repair_folder(const Options& options, const CommonOptions& common) {
  if (!options.repair_dir.empty()) return options.repair_dir;
  return std::filesystem::path(common.json).parent_path() / "vernier-repair";
}

// Whether an engine file was built from this very model. One that was not is looked at as any other engine
// is: by what the model means, and not by what the file promises.
bool is_built_from(const RunnerSpec& spec, const std::filesystem::path& model) {
  return spec.kind != "engine" ||
         read_manifest(spec.argument).model_hash == hash_to_text(hash_text(read_file(model)));
}

std::unique_ptr<EngineUnderTest> start_again(const RunnerSpec& spec, const RunnerModel& model,
                                             const CommonOptions& common, double budget);

// A runner of the command line, and what it is looked into by.
class Engine {
 public:
  Engine(const RunnerSpec& spec, const RunnerModel& model, const CommonOptions& common, double budget)
      : spec_(spec) {
    runner_ = make_late_runner(spec, model, common.threads, budget);
    StartAgain start = [spec, model, &common, budget] { return start_again(spec, model, common, budget); };
    if (auto* engine = dynamic_cast<EngineRunner*>(runner_.get());
        engine != nullptr && is_built_from(spec, model.path)) {
      tested_ = std::make_unique<BuiltEngineUnderTest>(*engine, std::move(start));
      return;
    }
    if (auto* loaded = dynamic_cast<LoadedRun*>(runner_.get())) {
      tested_ = std::make_unique<RecordingUnderTest>(
          loaded->name(), *model.model,
          [loaded](const NamedData& inputs) { return loaded->trace_on(inputs); });
      return;
    }
    if (spec.kind == "engine") {
      tested_ = std::make_unique<RunnerUnderTest>(*runner_, *model.model, nullptr);
      return;
    }
    MakeRunner again = [spec, threads = common.threads](const RunnerModel& other, double seconds) {
      return make_late_runner(spec, other, threads, seconds);
    };
    tested_ = std::make_unique<RunnerUnderTest>(*runner_, *model.model, std::move(again), std::move(start));
  }

  const RunnerSpec& spec() const { return spec_; }
  DiagnosedRunner get() const { return {runner_.get(), tested_.get()}; }
  void rename(const std::string& name) {
    runner_ = std::make_unique<RenamedRunner>(std::move(runner_), name);
  }

 private:
  RunnerSpec spec_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<EngineUnderTest> tested_;
};

// One more engine from the same command line.
class StartedAgain : public EngineUnderTest {
 public:
  StartedAgain(const RunnerSpec& spec, const RunnerModel& model, const CommonOptions& common, double budget)
      : engine_(spec, model, common, budget) {}

  const std::string& name() const override { return tested().name(); }
  NamedData run(const NamedData& inputs) override { return tested().run(inputs); }
  ShownRun show(const NamedData& inputs, const ShowOptions& options) override {
    return tested().show(inputs, options);
  }
  NumericsContract assumed_contract(const Node& node) const override {
    return tested().assumed_contract(node);
  }
  void limit_time(double seconds) override { tested().limit_time(seconds); }

 private:
  EngineUnderTest& tested() const { return *engine_.get().tested; }

  Engine engine_;
};

std::unique_ptr<EngineUnderTest> start_again(const RunnerSpec& spec, const RunnerModel& model,
                                             const CommonOptions& common, double budget) {
  return std::make_unique<StartedAgain>(spec, model, common, budget);
}

class DiagnoseCommand {
 public:
  DiagnoseCommand(const Options& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        imported_(open_model(options.model)),
        model_{options.model, &imported_.model},
        reference_(model_) {
    report_.environment = environment();
    report_.environment["model " + options.model] = hash_to_text(imported_.hash);
    report_.options = {{"model", options.model}, {"budget", fmt::format("{}", options.budget)}};
    options.comparison.data.add_effective(report_.options);
    if (const std::string faults = injected_faults(); !faults.empty())
      report_.options["FAULT INJECTED"] = faults;
  }

  int run() {
    options_.page.require();
    DiagnosisJob job = make_job();
    std::optional<Progress> progress(std::in_place, common_, std::nullopt);
    job.progress = [&](const std::string& stage) { progress->stage(stage); };
    const auto source = options_.comparison.data.open(imported_.model, common_.seed);
    report_.diagnosis = diagnose(job, *source);
    progress.reset();
    for (const UnloadedRunner& each : unloaded_.all())
      report_.diagnosis.notes.push_back(fmt::format("{} {}", each.name, each.text()));
    say(common_, diagnosis_text(report_, common_.verbosity > 0));
    if (!common_.json.empty()) write_file(common_.json, diagnosis_json(report_));
    write_pages(job);
    if (report_.diagnosis.healthy && !unloaded_.empty()) return unloaded_.status();
    if (unsupported_) return static_cast<int>(ErrorCode::kUnsupported);
    return report_.diagnosis.healthy ? 0 : 1;
  }

 private:
  void write_pages(const DiagnosisJob& job) const {
    const PageOptions& page = options_.page;
    if ((page.html + page.node_data).empty()) return;
    const Graph& graph = *imported_.model.graph;
    Report layers;
    layers.command = "diagnose";
    PageContent content;
    try {
      const auto source = options_.comparison.data.open(imported_.model, common_.seed);
      layers.comparisons =
          compare_inner_values(imported_.model, {job.against, job.engine.runner}, *source, job.compare);
    } catch (const Error& error) {
      content.left_out.push_back(
          fmt::format("errors of inner values, for they cannot be compared: {}", error.what()));
    }
    if (!page.node_data.empty()) write_file(page.node_data, node_data_json(layers, graph.name));
    if (page.html.empty()) return;
    content.verdict = verdict_name(report_.diagnosis.verdict);
    content.sentence = report_.diagnosis.sentence;
    content.report = diagnosis_json(report_);
    content.layers = report_json(layers);
    content.graph = drawn_model(options_.model, graph, std::vector{job.engine.runner});
    write_page(page, std::move(content));
  }

  DiagnosisJob make_job() {
    const RunnerRoles roles = roles_of(runner_specs(), options_.against, "diagnose");
    DiagnosisJob job;
    job.model = &imported_.model;
    job.calls = imported_.calls;
    for (const RunnerSpec* spec : roles.engines) {
      DiagnosedRunner engine;
      try {
        engine = add(*spec).get();
      } catch (const Error& error) {
        if (!unloaded_.keep(*spec, error)) throw;
        continue;
      }
      if (job.engine.runner == nullptr)
        job.engine = engine;
      else
        job.others.push_back(engine);
    }
    if (job.engine.runner == nullptr) throw unloaded_.all().front().error;
    job.against = &reference_;
    if (roles.against != nullptr) {
      const DiagnosedRunner against = add(*roles.against).get();
      job.against = against.runner;
      if (roles.against->kind != "reference") job.against_engine = against;
    }
    job.compare = options_.comparison.compare();
    job.budget = options_.budget;
    job.unsupported = [this] { unsupported_ = true; };
    job.most_bytes = static_cast<size_t>(options_.inner_memory * (1 << 30));
    job.seed = common_.seed;
    job.repair_builder = [this](const Runner& runner) { return make_repair_builder(runner); };
    if (options_.repair) job.repair = make_repair();
    return job;
  }

  std::unique_ptr<RepairBuilder> make_repair_builder(const Runner& runner) const {
    const auto made = std::find_if(engines_.begin(), engines_.end(),
                                   [&](const auto& each) { return each->get().runner == &runner; });
    return std::make_unique<EngineRepairBuilder>((*made)->spec(), model_, common_.threads);
  }

  RepairOptions make_repair() {
    take_interruptions();  // what was found before is worth something
    RepairOptions repair;
    repair.repair_builder = [this](const Runner& runner) { return make_repair_builder(runner); };
    repair.folder = repair_folder(options_, common_);
    if (options_.comparison.data.is_random())
      repair.draw = [this](uint64_t seed) { return options_.comparison.data.open(imported_.model, seed); };
    repair.budget = options_.budget;
    return repair;
  }

  Engine& add(const RunnerSpec& spec) {
    auto engine = std::make_unique<Engine>(spec, model_, common_, options_.budget);
    const std::string given = engine->get().runner->name();
    std::string name = given;
    for (int k = 2; names_.contains(name); ++k) name = fmt::format("{} #{}", given, k);
    if (name != given) engine->rename(name);
    names_.insert(name);
    for (const auto& [key, value] : engine->get().runner->description())
      report_.environment[name + ": " + key] = value;
    return *engines_.emplace_back(std::move(engine));
  }

  const Options& options_;
  const CommonOptions& common_;
  ImportedModel imported_;
  RunnerModel model_;
  ReferenceRunner reference_;
  DiagnosisReport report_;
  UnloadedRunners unloaded_;
  bool unsupported_ = false;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::set<std::string> names_;
};

}  // namespace

std::function<int()> declare_diagnose(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  declare_against(app, options->against);
  options->comparison.declare(app);
  app.add_option("--budget", options->budget, "seconds after which no further experiment begins")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  app.add_option("--inner-memory", options->inner_memory,
                 "GiB of inner values that are held at once; more are looked at in several runs (default: 1)")
      ->check(CLI::PositiveNumber)
      ->type_name("GIB");
  app.add_flag("--repair", options->repair,
               "try what may cure it, from cheap to dear, and verify it on other samples, for as long again");
  app.add_option("--repair-dir", options->repair_dir,
                 "where plans and models that hold are written (default: vernier-repair beside the report)")
      ->type_name("DIR");
  options->page.declare_html(app);
  options->page.declare_node_data(app, "the relative L2 of every value on the first sample");
  app.footer(
      "One runner is the engine to diagnose; of several the first that is wrong, and it is said which "
      "agree.\n"
      "--against before another one has them compared with that, which may be wrong itself; else they are\n"
      "compared with the reference.\n" +
      runner_help() + "\n" + preprocess_help());
  return [options, &common] { return DiagnoseCommand(*options, common).run(); };
}

}  // namespace vernier
