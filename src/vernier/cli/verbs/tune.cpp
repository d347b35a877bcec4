#include <chrono>
#include <filesystem>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/base/interruption.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/engine_help.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/options/tune_options.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/tune_outcome.h"
#include "vernier/ir/hash.h"
#include "vernier/page/sentences.h"
#include "vernier/search/engine_prober.h"
#include "vernier/search/plan_search.h"
#include "vernier/search/probe_memory.h"

namespace vernier {

namespace {

// The rest of the budget is for racing, and at last for racing in haste.
constexpr double kProbing = 0.7, kUnhurried = 0.9;

std::string unit_of(const TuneTarget& target) {
  if (target.kind == TuneTarget::Kind::kRelativeL2) return "relative L2";
  return target.kind == TuneTarget::Kind::kElements ? "of what is allowed" : "points lost";
}

class TuneCommand {
 public:
  TuneCommand(const TuneVerbOptions& options, const CommonOptions& common)
      : options_(options), common_(common), target_(options.target()), imported_(open_model(options.model)) {
    report_.model = options.model;
    report_.options = options.effective();
    report_.environment = environment();
    report_.environment["model " + options.model] = hash_to_text(imported_.hash);
    report_.target = target_.text();
    report_.unit = unit_of(target_);
    report_.limit = target_.limit();
    report_.notes = messages_of(imported_.notes);
  }

  int run() {
    options_.page.require();
    require_front_apart();
    take_interruptions();
    std::optional<Progress> progress(std::in_place, common_, std::nullopt);
    progress_ = [&](const std::string& stage) { progress->stage(stage); };
    const BuildOptions build = build_options();
    const UnitPlans plans(imported_.model, build.passes, build.precision, types_);
    const TuningData data = read_data();
    require_target_fits();
    const auto metric = make_metric();
    EngineProber prober(imported_.model, plans, data, metric.get(), prober_options(build));
    ProbeMemory memory(prober, options_.state, tested(plans, data));
    PlanSearch search(memory, search_options());
    const SearchResult result = search.run();
    memory.save();
    options_.build.save_timings(build);
    progress.reset();
    report_.remembered = memory.remembered();
    TuneOutcome(target_, options_.output, first_plan(plans), plans).add(result, report_);
    report_.interrupted = is_interrupted();
    report_.seconds = seconds();
    say(common_, tune_text(report_, common_.verbosity > 0));
    if (!common_.json.empty()) write_file(common_.json, tune_json(report_));
    if (!options_.page.html.empty()) write_page(result, plans);
    return report_.chosen ? 0 : 1;
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool is_past(double share) const { return is_interrupted() || seconds() > share * options_.budget; }

  // The network is drawn with the types of the plan that was chosen.
  void write_page(const SearchResult& result, const UnitPlans& plans) const {
    PageGraph drawn{.name = std::filesystem::path(options_.model).filename().string(),
                    .graph = imported_.model.graph.get(),
                    .plan = plans.first()};
    if (result.chosen && result.raced[*result.chosen].types)
      drawn.plan = plans.plan(*result.raced[*result.chosen].types);
    vernier::write_page(options_.page, {.verdict = report_.chosen ? "pass" : "fail",
                                        .sentence = sentence_of(report_),
                                        .report = tune_json(report_),
                                        .graph = page_graph_json(drawn)});
  }

  // The plans of the front are files that no option names.
  void require_front_apart() const {
    const size_t most = 2 * SearchOptions().most_raced;
    const auto same = [](const std::string& a, const std::string& b) {
      std::error_code error;
      return !a.empty() &&
             std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
    };
    for (size_t i = 0; i < most; ++i) {
      const std::string file = front_file(options_.output, i);
      for (const std::string& other :
           {options_.model, options_.runner_option("plan"), options_.runner_option("calibration"),
            options_.labels, options_.state, common_.json}) {
        if (same(other, file))
          throw usage_error("a plan of the front would overwrite what the command names")
              .in_file(file)
              .advise("give -o another name");
      }
    }
  }

  BuildOptions build_options() {
    BuildOptions build = options_.build.options(imported_.model);
    if (!build.accelerators.empty()) throw unsupported("`vernier tune` chooses plans for --cpu alone");
    const PrecisionOptions& given = build.precision;
    if (given.bf16 || given.fp16 || given.int8 || given.best)
      throw usage_error("--bf16, --fp16, --int8 and --best choose types themselves")
          .advise("--types names those that `tune` may choose from");
    types_ = options_.element_types(!given.calibration.empty());
    if (given.calibration.empty() && options_.types.empty())
      report_.notes.push_back("int8 is left out: there is no --calibration scales.json");
    return build;
  }

  TuningData read_data() {
    progress_("reading data");
    const auto source = options_.data.open(imported_.model, common_.seed);
    TuningData data = read_tuning_data(imported_.model, *source, {options_.held_out, common_.seed});
    report_.notes.insert(report_.notes.end(), data.notes.begin(), data.notes.end());
    if (data.random)
      report_.notes.push_back("random inputs alone were run: what a plan costs on real ones may be more");
    return data;
  }

  // A target that is about no output would be kept by any plan.
  void require_target_fits() {
    std::map<std::string, ElementType> outputs;
    std::string others;
    size_t floats = 0;
    for (const Value* output : imported_.model.graph->outputs) {
      const ElementType type =
          output->type.is_tensor() ? output->type.tensor.element : ElementType::kUndefined;
      outputs[output->name] = type;
      if (is_float(type))
        ++floats;
      else
        others += fmt::format("{}'{}'", others.empty() ? "" : ", ", output->name);
    }
    if (target_.kind == TuneTarget::Kind::kElements) target_.elements.require_use(outputs);
    if (target_.kind != TuneTarget::Kind::kRelativeL2) return;
    if (floats == 0)
      throw unsupported("the model has no output of floats, which --tolerance is about")
          .advise("give --metric, or --atol and --rtol for named outputs");
    if (!others.empty())
      report_.notes.push_back(fmt::format("--tolerance is about floats: {} {} not judged", others,
                                          outputs.size() - floats == 1 ? "is" : "are"));
  }

  std::unique_ptr<TaskMetric> make_metric() const {
    if (target_.kind != TuneTarget::Kind::kMetric) return nullptr;
    MetricOptions metric;
    metric.name = target_.metric;
    metric.output = options_.labels_output;
    for (const Value* output : imported_.model.graph->outputs) metric.outputs.push_back(output->name);
    return make_task_metric(metric);
  }

  EngineProberOptions prober_options(const BuildOptions& build) const {
    EngineProberOptions options;
    options.build = build;
    options.target = target_;
    options.labels = options_.labels;
    options.output = options_.labels_output;
    options.seed = common_.seed;
    options.race_seconds = options_.duration;
    options.is_over = [this] { return is_past(kProbing); };
    options.is_urgent = [this] { return is_past(kUnhurried); };
    options.progress = progress_;
    return options;
  }

  SearchOptions search_options() const {
    SearchOptions options;
    options.limit = target_.limit();
    options.predicts = target_.is_error();
    options.is_over = [this] { return is_past(kProbing); };
    options.progress = progress_;
    return options;
  }

  std::string first_plan(const UnitPlans& plans) const {
    const std::string given = options_.runner_option("plan");
    return !given.empty() ? given : plans.start() ? "as the options say" : "declared";
  }

  // Writes down all that every score depends on.
  std::string tested(const UnitPlans& plans, const TuningData& data) const {
    uint64_t sum = hash_combine(structural_hash(*imported_.model.graph), hash_of(data));
    for (const SearchUnit& unit : plans.units()) {
      for (const std::string& node : unit.nodes) sum = hash_text(node, sum);
      for (const ElementType type : unit.types) sum = hash_text(element_type_short_name(type), sum);
    }
    auto options = options_.build.effective();
    options.erase("timing-cache");
    for (const auto& [name, value] : options) sum = hash_text(name + value, sum);
    const std::string plugin = target_.metric.ends_with(".py") ? target_.metric : "";
    for (const std::string& file :
         {options_.runner_option("calibration"), options_.runner_option("plan"), options_.labels, plugin}) {
      if (!file.empty()) sum = hash_text(read_file(file), sum);
    }
    sum = hash_text(target_.text() + options_.labels_output, sum);
    return hash_to_text(hash_text(timing_device(), sum));
  }

  const TuneVerbOptions& options_;
  const CommonOptions& common_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TuneTarget target_;
  ImportedModel imported_;
  std::vector<ElementType> types_;
  std::function<void(const std::string&)> progress_;
  TuneReport report_;
};

}  // namespace

std::function<int()> declare_tune(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<TuneVerbOptions>();
  options->declare(app);
  app.footer(
      "--plan: what the search begins with; its frozen nodes are left alone. --layer-precisions and\n"
      "--keep-fp32 fix nodes.\n\n" +
      built_engine_help() + "\n" + preprocess_help());
  return [options, &common] {
    try {
      return TuneCommand(*options, common).run();
    } catch (Error& error) {
      if (!error.node().empty() && error.file().empty()) error.in_file(options->model);
      throw;
    }
  };
}

}  // namespace vernier
