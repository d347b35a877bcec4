#include <fmt/ranges.h>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/evaluate_options.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/verbs/evaluation_outcome.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/evaluate/part_file.h"
#include "vernier/evaluate/table_file.h"
#include "vernier/ir/clone.h"
#include "vernier/run/renamed_runner.h"

namespace vernier {

namespace {

class EvaluateCommand {
 public:
  EvaluateCommand(const EvaluateVerbOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {
    part_.subject.options = options.effective();
    part_.environment = environment();
    part_.subject.build = part_.environment["vernier"];
    part_.subject.seed = common.seed;
    part_.shard = parse_shard(options.shard);
  }

  int run() {
    options_.files.page.require();
    if (!options_.shard.empty() && common_.json.empty())
      throw usage_error("--shard writes a partial result, and --json does not say where");
    if (!options_.shard.empty() && (!options_.files.scores.empty() || !options_.files.page.html.empty()))
      throw usage_error("--scores and --html are of all samples").advise("give them to `vernier merge`");
    open_subject();
    EvaluationSubject& subject = part_.subject;
    subject.gates = options_.gates();
    subject.metrics = options_.metric_options(output_names());
    const OwnedMetrics metrics(subject.metrics);
    const auto source = open_source();
    make_runners();
    run_samples(metrics, *source);
    if (options_.shard.empty()) return finish_evaluation(part_, metrics, options_.files, common_, drawn());
    write_file(common_.json, part_json(part_));
    say(common_, fmt::format("shard {}/{}: {} of {} samples; `vernier merge` makes the whole\n",
                             part_.shard.index, part_.shard.count, part_.scores.size(), part_.samples));
    return 0;
  }

 private:
  // The models, or the engine file, which is its own runner.
  void open_subject() {
    EvaluationSubject& subject = part_.subject;
    const auto add = [&](const std::string& file, const std::string& hash) {
      const char* comma = subject.model.empty() ? "" : ", ";
      subject.model += comma + std::filesystem::path(file).filename().string();
      subject.model_hash += comma + hash;
    };
    if (options_.models.size() == 1 && is_engine_file(options_.models[0])) {
      if (!specs_.empty())
        throw usage_error("runners need a model, which an engine file is not")
            .advise("write MODEL --engine FILE");
      const LoadedEngine loaded = load_engine(options_.models[0]);
      models_.emplace_back().model.graph = clone(loaded.engine->graph());
      add(options_.models[0], loaded.manifest.model_hash);
      specs_.push_back({"engine", options_.models[0], {}});
      return;
    }
    for (const std::string& file : options_.models) {
      models_.push_back(open_model(file));
      add(file, hash_to_text(models_.back().hash));
    }
  }

  // Data are made for the first model; the others take the same.
  const Model& model() const { return models_.front().model; }

  std::vector<std::string> output_names() const {
    std::vector<std::string> names;
    for (const Value* output : model().graph->outputs) names.push_back(output->name);
    return names;
  }

  std::unique_ptr<LabelledSource> open_source() {
    LabelledDataOptions data = options_.labelled_data(part_.subject.metrics);
    if (data.data.size() == 1 && is_table_file(data.data[0])) {
      table_.emplace(data.data[0]);
      data.data = {table_->list().string()};
    }
    auto source = open_labelled_data(model(), data);
    part_.subject.data_format = source->format();
    part_.subject.data_hash = source->hash();
    part_.subject.classes = source->classes();
    return source;
  }

  void make_runners() {
    if (specs_.empty())
      throw usage_error("no runner is given").advise("add --reference, --cpu, --onnxruntime or --runner");
    for (size_t m = 0; m < models_.size(); ++m) {
      for (const RunnerSpec& spec : specs_) add_runner(m, spec);
    }
    const auto& names = part_.subject.runners;
    if (!part_.subject.gates.empty() && names.size() < 2)
      throw usage_error("--drop compares runners, and there is one").advise("put --reference before it");
    if (options_.against.empty()) return;
    for (size_t& i = part_.subject.against; names[i].name != options_.against;) {
      if (++i == names.size())
        throw usage_error("--against '{}' is no runner of this command", options_.against);
    }
  }

  void add_runner(size_t of_model, const RunnerSpec& spec) {
    auto& names = part_.subject.runners;
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(names.begin(), names.end(), [&](const auto& each) { return each.name == name; });
    };
    const std::string& file = options_.models[of_model];
    auto runner = make_runner(spec, {file, &models_[of_model].model}, common_.threads);
    std::string wanted = runner->name();
    if (models_.size() > 1) wanted += " on " + std::filesystem::path(file).filename().string();
    std::string name = wanted;
    for (int k = 2; is_taken(name); ++k) name = fmt::format("{} #{}", wanted, k);
    if (name != runner->name()) runner = std::make_unique<RenamedRunner>(std::move(runner), name);
    names.push_back({name, runner->description()});
    runners_.push_back(std::move(runner));
  }

  void run_samples(const OwnedMetrics& metrics, LabelledSource& source) {
    const auto samples = source.size();
    const size_t here = samples ? (*samples + part_.shard.count - part_.shard.index) / part_.shard.count : 0;
    Progress progress(common_, samples ? std::optional(here * runners_.size()) : std::nullopt);
    EvaluationJob job;
    for (const auto& runner : runners_) job.runners.push_back(runner.get());
    job.against = part_.subject.against;
    job.metrics = metrics.all;
    job.shard = part_.shard;
    job.progress = [&](size_t sample, const std::string& runner) {
      progress.stage(fmt::format("sample {}: {}", sample, runner));
    };
    run_evaluation(job, source, part_);
  }

  std::string drawn() const {
    if (options_.files.page.html.empty()) return "";
    std::vector<Runner*> runners;
    for (const auto& runner : runners_) runners.push_back(runner.get());
    return drawn_model(options_.models[0], *model().graph, runners);
  }

  const EvaluateVerbOptions& options_;
  const CommonOptions& common_;
  std::vector<RunnerSpec> specs_ = runner_specs();
  std::optional<TableFile> table_;
  std::vector<ImportedModel> models_;
  std::vector<std::unique_ptr<Runner>> runners_;
  EvaluationPart part_;
};

}  // namespace

std::function<int()> declare_evaluate(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<EvaluateVerbOptions>();
  options->declare(app);
  app.footer(runner_help() + "\n" + preprocess_help());
  return [options, &common] {
    try {
      return EvaluateCommand(*options, common).run();
    } catch (Error& error) {
      if (!error.node().empty() && error.file().empty() && options->models.size() == 1)
        error.in_file(options->models[0]);
      throw;
    }
  };
}

}  // namespace vernier
