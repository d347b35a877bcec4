#include <chrono>
#include <filesystem>

#include "vernier/backends/installed/drivers.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/bench/profile.h"
#include "vernier/builder/builder.h"
#include "vernier/cli/checks.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/build_options.h"
#include "vernier/cli/options/engine_help.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/report_parts.h"
#include "vernier/compile/pipelines.h"
#include "vernier/compile/refit.h"
#include "vernier/data/data_set.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/plan_pipeline.h"
#include "vernier/engine/quarantine.h"
#include "vernier/engine/session.h"
#include "vernier/page/sentences.h"
#include "vernier/report/build_report.h"
#include "vernier/report/precision/plan_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, engine, refit;
  BuildArguments build;
  std::vector<std::string> data;
  PageOptions page;
  bool strip_weights = false, dump_pipeline = false, no_verify = false;
};

std::string pipeline_text() {
  std::string text;
  const auto add = [&](const char* title, const std::vector<Pass>& passes) {
    text += fmt::format("{}\n", title);
    for (const Pass& pass : passes)
      text += fmt::format("  {} ({})\n", pass.name, numerical_class_name(pass.numerics));
  };
  add("once for a model: integers", integer_pipeline());
  add("once for a model: what simplifies it", model_pipeline());
  text += "once for a model: types\n  apply-precision (narrowing)\n";
  add("once for a model: the rest", typed_pipeline());
  add("once for each plan", plan_pipeline(host_driver().group_traits()));
  return text;
}

// Adds what the steps without a kernel take at the sizes of a plan, measured on random inputs, once warm.
void add_fallback_costs(BuildReport::Plan& plan, const PreparedPlan& prepared, const Model& model,
                        const std::shared_ptr<const Engine>& engine, uint64_t seed) {
  const auto fallbacks = std::count_if(plan.steps.begin(), plan.steps.end(),
                                       [](const BuildReport::Step& step) { return step.kernel.empty(); });
  if (fallbacks == 0) {
    plan.fallback.emplace();
    return;
  }
  InputShapes shapes;
  const auto& inputs = engine->graph().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = prepared.inputs[i];
    if (type.is_tensor() && type.tensor.shape) shapes[inputs[i]->name] = *to_dims(*type.tensor.shape);
  }
  const auto sample = RandomInputs(model, RandomOptions{seed, 1, {}, {shapes}}).next();
  if (!sample) return;
  Session session(engine, prepared.threads);
  const FallbackTime fallback = fallback_time(session, sample->inputs);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto found = fallback.without_kernel.find(&prepared.plan->steps.at(i));
    if (found != fallback.without_kernel.end()) plan.steps[i].milliseconds = found->second;
  }
  plan.fallback = {fallback.steps, fallback.share};
}

void describe(BuildReport& report, const std::shared_ptr<const Engine>& built, const Model& model,
              uint64_t seed) {
  const Engine& engine = *built;
  for (const PassRecord& pass : engine.passes()) {
    if (pass.rewrites > 0)
      report.passes.push_back({pass.name, std::string(numerical_class_name(pass.numerics)), pass.rewrites});
  }
  for (const auto& prepared : engine.prepared()) {
    BuildReport::Plan plan{sizes_text(engine.graph(), prepared.inputs),
                           report_steps(describe_steps(*prepared.plan)), prepared.plan->arena_bytes};
    try {
      add_fallback_costs(plan, prepared, model, built, seed);
    } catch (const Error& error) {  // inputs at random need not suit the model
      report.notes.push_back(fmt::format("what steps without a kernel cost is not known: {}", error.what()));
    }
    report.plans.push_back(std::move(plan));
  }
  std::vector<TunedSizes> tuned;
  for (const auto& sizes : engine.tuned().all()) tuned.push_back(*sizes);
  tell_ranges(report, tuned);
  report.weights = constant_bytes(engine.graph());
}

// Gives samples of the data that were given; without data some are drawn.
std::vector<Sample> samples_for(const Options& options, const Model& model) {
  constexpr size_t kMostSamples = 4;
  std::vector<Sample> samples;
  if (options.data.empty()) return samples;
  const auto source = open_data(model, options.data);
  while (samples.size() < kMostSamples) {
    auto sample = source->next();
    if (!sample) break;
    samples.push_back(std::move(*sample));
  }
  return samples;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

BuiltEngine refit(const Options& options, const Model& model, const BuildOptions& build_options,
                  const ProofOptions& how) {
  BuiltEngine made;
  const auto start = Clock::now();
  made.engine = refit_engine(options.refit, model, build_options);
  made.build_seconds = seconds_since(start);
  if (options.no_verify) return made;
  const auto judging = Clock::now();
  made.certificate = prove(made.engine, model, samples_for(options, model), how);
  made.verdict_seconds = seconds_since(judging);
  return made;
}

// Builds and judges as the options say, and notes it in the report.
std::shared_ptr<const Engine> build(const Options& options, const Model& model, uint64_t seed,
                                    BuildReport& report) {
  if (!options.refit.empty()) options.build.require_none_for_refit();
  const BuildOptions build_options = options.build.options(model);
  ProofOptions how;
  how.seed = seed;
  BuiltEngine made =
      options.refit.empty()
          ? Builder(model, build_options)
                .build(samples_for(options, model), options.no_verify ? Judge::kNever : Judge::kAlways, how)
          : refit(options, model, build_options, how);
  report.build_s = made.build_seconds;
  options.build.save_timings(build_options);
  report.certificate = std::move(made.certificate);
  report.verdict_s = made.verdict_seconds;
  for (std::string& note : made.notes) report.notes.push_back(std::move(note));
  for (const std::string& tactic : made.engine->tuning().offered) report.tactics.push_back(tactic);
  for (const QuarantinedTactic& each : quarantined_tactics(*made.engine))
    report.quarantine.push_back(
        {each.tactic, each.request, {each.nodes.begin(), each.nodes.end()}, each.reason, each.text()});
  return made.engine;
}

void save(const Engine& engine, const Options& options, const std::string& hash, BuildReport& report) {
  const auto start = Clock::now();
  SaveOptions save;
  save.certificate = report.certificate;
  save.model_name = std::filesystem::path(options.model).filename();
  save.model_hash = hash;
  save.options = report.options;
  save.strip_weights = options.strip_weights;
  save_engine(engine, options.engine, save);
  report.file = std::filesystem::file_size(options.engine);
  report.build_s += seconds_since(start);
}

bool passes(const BuildReport& report) {
  return !report.certificate || report.certificate->verdict == Verdict::kPass;
}

std::string why_not_written(const Certificate& certificate, int level) {
  constexpr int kVerifiesAll = 4;
  if (certificate.verdict == Verdict::kFail)
    return fmt::format("no engine is written: it does not compute what it promises{}",
                       level < kVerifiesAll ? "; --opt-level 4 verifies every kernel, also where there is no "
                                              "choice, and leaves out what is wrong"
                                            : "");
  return "no engine is written: the data do not show whether it computes what it promises; give others by "
         "--data, or --no-verify";
}

void write_page(const Options& options, const BuildReport& report, const Graph& graph, const Engine& engine) {
  const auto& prepared = engine.prepared();
  const Plan* plan = prepared.empty() ? nullptr : prepared.front().plan.get();
  write_page(options.page, {.verdict = std::string(verdict_name(
                                report.certificate ? report.certificate->verdict : Verdict::kNotCompared)),
                            .sentence = sentence_of(report),
                            .report = build_json(report),
                            .graph = drawn_model(options.model, graph, plan, &engine)});
}

// Gives the exit status.
int build(const Options& options, const CommonOptions& common) {
  constexpr size_t kStages = 4;
  std::optional<Progress> progress(std::in_place, common, kStages);
  progress->stage("reading the model");
  const auto imported = open_model(options.model);
  BuildReport report;
  report.model = options.model;
  report.engine = options.engine;
  report.environment = environment();
  const std::string hash = hash_to_text(imported.hash);
  report.environment["model " + options.model] = hash;
  report.options = options.build.effective();
  report.notes = messages_of(imported.notes);
  progress->stage(options.no_verify ? "building" : "building and judging");
  const auto engine = build(options, imported.model, common.seed, report);
  if (const auto fault = engine->fault())
    report.notes.push_back("a fault is injected on purpose: " + fault_text(*fault));
  progress->stage("writing the engine");
  if (!options.engine.empty() && passes(report))
    save(*engine, options, hash, report);
  else if (!options.engine.empty())
    report.notes.push_back(why_not_written(*report.certificate, options.build.level));
  progress->stage("describing it");
  describe(report, engine, imported.model, common.seed);
  if (!engine->prepared().empty()) report.audit = engine->audit(*engine->prepared()[0].plan);
  progress.reset();
  say(common, audit_text(report.audit, common.verbosity > 0 ? SIZE_MAX : 10));
  say(common, build_text(report, common.verbosity > 0));
  if (!common.json.empty()) write_file(common.json, build_json(report));
  if (!options.page.html.empty()) write_page(options, report, *imported.model.graph, *engine);
  return passes(report) ? 0 : 1;
}

}  // namespace

std::function<int()> declare_build(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model");
  app.add_option("-o,--output", options->engine, "the engine file to write; none: only the report")
      ->type_name("ENGINE")
      ->check(must_not_be_empty);
  options->build.declare(app);
  app.add_option("--data", options->data, "data as `run` takes them, for the accuracy verdict")
      ->type_name("D");
  app.footer(built_engine_help());
  app.add_flag("--no-verify", options->no_verify, "no accuracy verdict");
  app.add_flag("--strip-weights", options->strip_weights, "leave out of the file what the model holds");
  app.add_option("--refit", options->refit,
                 "an engine whose choices are taken over, for the weights of MODEL")
      ->type_name("ENGINE");
  app.add_flag("--dump-pipeline", options->dump_pipeline,
               "print the passes in their order, and build nothing");
  options->page.declare_html(app);
  return [options, &common] {
    if (options->dump_pipeline) {
      say(common, pipeline_text());
      return 0;
    }
    options->page.require();
    if (options->model.empty()) throw usage_error("MODEL is required");
    try {
      return build(*options, common);
    } catch (Error& error) {
      if (error.file().empty()) error.in_file(options->model);
      throw;
    }
  };
}

}  // namespace vernier
