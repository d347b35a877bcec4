#include <iostream>

#include "vernier/backends/process/saved_run.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/run_options.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/runner_roles.h"
#include "vernier/cli/unloaded_runners.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/inner_comparison.h"
#include "vernier/data/formats/npy.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/page/overlays.h"
#include "vernier/page/sentences.h"
#include "vernier/report/report.h"
#include "vernier/run/comparison_run.h"
#include "vernier/run/renamed_runner.h"

namespace vernier {

namespace {

class RunCommand {
 public:
  RunCommand(const RunVerbOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {
    report_.command = "run";
    report_.options = options.effective();
    report_.environment = environment();
  }

  int run() {
    options_.page.require();
    if (specs_.empty())
      throw usage_error("no runner is given")
          .advise("add --reference, --onnxruntime, --runner or --load-run");
    // The default of other verbs, which nobody needs to name there.
    if (options_.against == "reference" && !options_.models.empty() &&
        std::none_of(specs_.begin(), specs_.end(), [](const auto& spec) { return spec.kind == "reference"; }))
      specs_.insert(specs_.begin(), {"reference", "", {}});
    judge();
    say(common_, report_text(report_, {.max_rows = common_.verbosity > 0 ? SIZE_MAX : 20}));
    if (!common_.json.empty()) write_file(common_.json, report_json(report_));
    write_pages();
    if (common_.observer != nullptr && common_.observer->compared) common_.observer->compared(report_);
    return status();
  }

 private:
  void write_pages() const {
    const Graph* graph = models_.empty() ? nullptr : models_[0].model.graph.get();
    if (!options_.page.node_data.empty())
      write_file(options_.page.node_data, node_data_json(report_, graph == nullptr ? "" : graph->name));
    if (options_.page.html.empty()) return;
    std::vector<Runner*> runners;
    for (size_t i = 0; i < runners_.size(); ++i) {
      if (models_of_runners_[i]->graph.get() == graph) runners.push_back(runners_[i].get());
    }
    write_page(options_.page,
               {.verdict = std::string(verdict_name(report_.verdict())),
                .sentence = sentence_of(report_),
                .report = report_json(report_),
                .graph = graph == nullptr ? "" : drawn_model(options_.models[0], *graph, runners)});
  }

  int status() const {
    if (report_.comparisons.empty() && recorded_) return 0;
    if (!report_.failures.empty()) return 1;
    if (unloaded_.empty()) return report_.verdict() == Verdict::kPass ? 0 : 1;
    const bool others_pass =
        std::all_of(report_.comparisons.begin(), report_.comparisons.end(), [&](const auto& each) {
          return each.verdict == Verdict::kPass || unloaded_.find(each.actual) != nullptr;
        });
    return others_pass ? unloaded_.status() : 1;
  }

  void judge() {
    if (options_.models.empty()) return judge_recordings();
    try {
      run_models();
    } catch (Error& error) {
      // A node that fails while it runs is a matter of the model.
      if (!error.node().empty() && options_.models.size() == 1) error.in_file(options_.models[0]);
      throw;
    }
  }

  void judge_recordings() {
    std::vector<std::unique_ptr<LoadedRun>> loaded;
    std::vector<RecordedRun> runs;
    for (const RunnerSpec& spec : specs_) {
      if (spec.kind != "load-run") throw usage_error("--{} needs a model", spec.kind);
      LoadedRun& run = *loaded.emplace_back(std::make_unique<LoadedRun>(spec.argument));
      runs.push_back({run.name(), run.sample_count(), [&run](size_t index) { return run.trace(index); }});
    }
    std::vector<std::string> names;
    names.reserve(runs.size());
    for (const auto& run : runs) names.push_back(run.name);
    auto compare = options_.comparison.compare();
    compare.random_data = false;
    const Trace first = loaded[against(names)]->trace(0);
    std::map<std::string, ElementType> outputs;
    std::set<std::string> shown;
    for (const TraceEntry& entry : first.entries) {
      shown.insert(entry.value);
      if (entry.is_output) outputs[entry.value] = entry.declared;
    }
    require_known_names(outputs, shown);
    compare.tolerances.require_use(outputs);
    report_.comparisons = judge_recorded(runs, against(names), compare);
  }

  // Options that name outputs, or with --layers any value that is compared.
  void require_known_names(const std::map<std::string, ElementType>& outputs,
                           const std::set<std::string>& values) const {
    std::vector<std::string> names;
    names.reserve(outputs.size());
    for (const auto& [name, type] : outputs) names.push_back(name);
    const auto refuse = [&](const char* option, const std::string& name) {
      throw usage_error("{} '{}' is no {}", option, name,
                        values.size() > outputs.size() ? "value that is compared" : "output")
          .advise(fmt::format("the outputs are: {}", fmt::join(names, ", ")));
    };
    for (const std::string& name : options_.comparison.constant_values) {
      if (!outputs.contains(name) && !values.contains(name)) refuse("--constant-output", name);
    }
    if (!options_.labels_output.empty() && !outputs.contains(options_.labels_output))
      refuse("--labels-output", options_.labels_output);
  }

  size_t against(const std::vector<std::string>& names) const {
    if (options_.against.empty()) return 0;
    const auto found = std::find(names.begin(), names.end(), options_.against);
    if (found == names.end())
      throw usage_error("--against '{}' is no runner of this command", options_.against)
          .advise(fmt::format("there are: {}", fmt::join(names, ", ")));
    return static_cast<size_t>(found - names.begin());
  }

  void import_models() {
    for (const auto& path : options_.models) {
      models_.push_back(open_model(path));
      report_.environment["model " + path] = hash_to_text(models_.back().hash);
      const auto& notes = models_.back().notes;
      for (const std::string& note : messages_of(notes))
        report_.notes.push_back(options_.models.size() > 1 ? path + ": " + note : note);
      if (notes.empty()) continue;
      const std::string more =
          notes.size() > 1 ? fmt::format(" (and {} more; see `vernier inspect`)", notes.size() - 1) : "";
      std::cerr << "vernier: " << path << ": " << notes.front().message << more << "\n";
    }
  }

  void make_runners(ComparisonJob& job) {
    std::vector<std::string> names;
    for (size_t m = 0; m < models_.size(); ++m) {
      for (const RunnerSpec& spec : specs_) {
        RunnerSpec plain = spec;
        plain.options.erase("save-run");
        auto runner = unloaded_.make(plain, {options_.models[m], &models_[m].model}, common_.threads);
        if (runner == nullptr) continue;
        std::string name = runner->name();
        if (models_.size() > 1)
          name += " on " + std::filesystem::path(options_.models[m]).filename().string();
        for (int k = 2; std::find(names.begin(), names.end(), name) != names.end(); ++k)
          name = fmt::format("{} #{}", runner->name(), k);
        if (name != runner->name()) runner = std::make_unique<RenamedRunner>(std::move(runner), name);
        for (const auto& [key, value] : runner->description()) report_.environment[name + ": " + key] = value;
        if (spec.options.contains("save-run")) {
          if (models_.size() > 1) throw usage_error("--save-run takes one model");
          recorders_[runners_.size()] =
              std::make_unique<RunRecorder>(spec.options.at("save-run"), name, runner->description());
        }
        names.push_back(name);
        models_of_runners_.push_back(&models_[m].model);
        if (is_reference(*runner)) job.references.insert(runners_.size());
        job.runners.push_back(runners_.emplace_back(std::move(runner)).get());
      }
    }
    // With nobody to compare with there is nothing but the reason to tell.
    const UnloadedRunner* wanted = unloaded_.find(options_.against);
    if (names.empty()) throw unloaded_.all().front().error;
    if (wanted != nullptr) throw wanted->error;
    job.against = against(names);
    if (options_.against.empty() && unloaded_.find(runner_name(specs_.front())) != nullptr)
      report_.notes.push_back(fmt::format("the others are compared with {}, for {} {}", names[job.against],
                                          unloaded_.all().front().name, unloaded_.all().front().text()));
  }

  static bool is_reference(Runner& runner) {
    return dynamic_cast<ReferenceRunner*>(&runner.original()) != nullptr ||
           dynamic_cast<PlannedRunner*>(&runner.original()) != nullptr;
  }

  // Rows of the report for those that are compared with nobody.
  void add_unloaded(const std::string& reference) {
    for (const UnloadedRunner& each : unloaded_.all()) {
      ComparisonResult row;
      row.reference = reference;
      row.actual = each.name;
      row.reasons = {each.text()};
      report_.comparisons.push_back(std::move(row));
    }
  }

  void judge_by_bounds(ComparisonJob& job) {
    job.derive_bounds = [this](Runner& runner, const NamedData& inputs, const std::set<std::string>& values) {
      return promised_bounds(runner, inputs, common_.seed, values);
    };
    // Another model has other roundings, and an engine that is compared with has some as well.
    if (models_.size() == 1 && dynamic_cast<ReferenceRunner*>(&runners_[job.against]->original()) != nullptr)
      job.exceeded_bounds = exceeded_bounds(models_[0].model, common_.seed);
  }

  void run_models() {
    import_models();
    ComparisonJob job;
    job.compare = options_.comparison.compare();
    job.seed = common_.seed;
    if (options_.layers) job.taps = inner_tensors(*models_[0].model.graph);
    std::map<std::string, ElementType> outputs;
    for (const Value* output : models_[0].model.graph->outputs)
      outputs[output->name] = element_type_of(output->type);
    require_known_names(outputs, {job.taps.begin(), job.taps.end()});
    if (!options_.layers) job.compare.tolerances.require_use(outputs);
    if (!options_.labels.empty())
      job.labels =
          Labels{options_.labels_output, read_npy_file(options_.labels, ElementType::kInt64).to_ints()};
    const auto source = options_.comparison.data.open(models_[0].model, common_.seed);
    make_runners(job);
    job.model = models_of_runners_[job.against];
    judge_by_bounds(job);
    job.observe = [this](size_t runner, const NamedData& inputs, const Trace& trace) {
      if (const auto found = recorders_.find(runner); found != recorders_.end())
        found->second->add(inputs, trace);
      if (common_.observer != nullptr && common_.observer->sample)
        common_.observer->sample(runners_[runner]->name(), inputs, trace);
    };
    const auto samples = source->size();
    std::optional<Progress> progress(std::in_place, common_,
                                     samples ? std::optional(*samples * job.runners.size()) : std::nullopt);
    job.progress = [&](size_t sample, const std::string& stage) {
      progress->stage(fmt::format("sample {}: {}", sample, stage));
    };
    ComparisonOutcome result = run_and_compare(job, *source);
    progress.reset();
    for (auto& [runner, recorder] : recorders_) recorder->finish();
    recorded_ = !recorders_.empty() || (common_.observer != nullptr && common_.observer->sample);
    report_.comparisons = std::move(result.comparisons);
    add_unloaded(runners_[job.against]->name());
    report_.failures = std::move(result.failures);
    report_.samples = std::move(result.samples);
    report_.drawn = std::move(result.drawn);
    report_.withdrawn = std::move(result.withdrawn);
    report_.notes.insert(report_.notes.end(), result.notes.begin(), result.notes.end());
    report_.noise = std::move(result.noise);
    for (const Accuracy& each : result.accuracies)
      report_.accuracies.push_back({each.runner, each.right, each.rows});
  }

  const RunVerbOptions& options_;
  const CommonOptions& common_;
  std::vector<RunnerSpec> specs_ = runner_specs();
  UnloadedRunners unloaded_;
  Report report_;
  std::vector<ImportedModel> models_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<const Model*> models_of_runners_;
  std::map<size_t, std::unique_ptr<RunRecorder>> recorders_;
  bool recorded_ = false;
};

}  // namespace

std::function<int()> declare_run(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<RunVerbOptions>();
  options->declare(app);
  app.footer(runner_help() + "\n" + preprocess_help());
  return [options, &common] { return RunCommand(*options, common).run(); };
}

}  // namespace vernier
