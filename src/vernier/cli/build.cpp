#include <chrono>
#include <cmath>
#include <filesystem>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/cli/build_options.h"
#include "vernier/cli/precision_options.h"
#include "vernier/cli/verb.h"
#include "vernier/data/data_set.h"
#include "vernier/data/random_inputs.h"
#include "vernier/engine/accuracy.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/engine_io.h"
#include "vernier/engine/pipelines.h"
#include "vernier/engine/session.h"
#include "vernier/onnx/import.h"
#include "vernier/report/audit_report.h"
#include "vernier/report/build_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, engine, refit;
  BuildArguments build;
  std::vector<std::string> data;
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
  add("once for each plan", plan_pipeline());
  return text;
}

// Of a model whose sizes are all fixed, these; of another, the corners of each profile, the tuned sizes
// first.
std::vector<std::vector<ValueType>> sizes_to_prepare(const Engine& engine) {
  std::vector<std::vector<ValueType>> all;
  const auto add = [&](std::vector<ValueType> types) {
    if (std::find(all.begin(), all.end(), types) == all.end()) all.push_back(std::move(types));
  };
  const Graph& graph = engine.graph();
  for (const ShapeProfile& profile : engine.options().profiles) {
    for (auto size : {&DimRange::opt, &DimRange::min, &DimRange::max}) add(profile.types(graph, size));
  }
  const bool fixed = std::all_of(graph.inputs.begin(), graph.inputs.end(), [](const Value* input) {
    return input->type.is_tensor() && input->type.tensor.shape && to_dims(*input->type.tensor.shape);
  });
  if (all.empty() && fixed) add(ShapeProfile{}.types(graph, &DimRange::opt));
  return all;
}

// What the steps without a kernel take at the sizes of a plan: measured on random inputs, once warm.
void add_fallback_costs(BuildReport::Plan& plan, const Engine::Prepared& prepared, const Model& model,
                        const std::shared_ptr<Engine>& engine, uint64_t seed) {
  if (std::all_of(plan.steps.begin(), plan.steps.end(),
                  [](const BuildReport::Step& step) { return !step.kernel.empty(); }))
    return;
  InputShapes shapes;
  const auto& inputs = engine->graph().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = prepared.inputs[i];
    if (type.is_tensor() && type.tensor.shape) shapes[inputs[i]->name] = *to_dims(*type.tensor.shape);
  }
  const auto sample = RandomInputs(model, RandomOptions{seed, 1, {}, {shapes}}).next();
  if (!sample) return;
  Session session(engine, prepared.threads);
  session.run(sample->inputs);
  size_t at = 0;
  StepObserver observer;
  observer.timed = [&](const Step&, int64_t nanoseconds) {
    BuildReport::Step& step = plan.steps.at(at++);
    if (step.kernel.empty()) step.milliseconds = static_cast<double>(nanoseconds) * 1e-6;
  };
  session.run(sample->inputs, &observer);
}

void describe(BuildReport& report, const std::shared_ptr<Engine>& built, const Model& model, uint64_t seed) {
  const Engine& engine = *built;
  for (const PassRecord& pass : engine.passes()) {
    if (pass.rewrites > 0)
      report.passes.push_back({pass.name, std::string(numerical_class_name(pass.numerics)), pass.rewrites});
  }
  for (const auto& prepared : engine.prepared()) {
    BuildReport::Plan plan{sizes_text(engine.graph(), prepared.inputs), {}, prepared.plan->arena_bytes};
    for (const StepDescription& step : describe_steps(*prepared.plan))
      plan.steps.push_back({step.kernel, step.reason, step.nodes, step.contract});
    try {
      add_fallback_costs(plan, prepared, model, built, seed);
    } catch (const Error& error) {  // inputs at random need not suit the model
      report.notes.push_back(fmt::format("what steps without a kernel cost is not known: {}", error.what()));
    }
    report.plans.push_back(std::move(plan));
  }
  report.weights = constant_bytes(engine.graph());
}

// The data that were given, or random inputs of the sizes that the engine was tuned at.
std::vector<Sample> samples_for(const Options& options, const Model& model, const Engine& engine,
                                uint64_t seed) {
  constexpr size_t kMostSamples = 4;
  std::vector<Sample> samples;
  std::unique_ptr<DataSource> source;
  if (!options.data.empty()) {
    source = open_data(model, options.data);
  } else if (!engine.options().profiles.empty()) {
    InputShapes shapes;
    for (const auto& [name, ranges] : engine.options().profiles[0].inputs) {
      for (const DimRange& range : ranges) shapes[name].push_back(range.opt);
    }
    source = std::make_unique<RandomInputs>(model, RandomOptions{seed, 1, {}, {shapes}});
  }
  while (source && samples.size() < kMostSamples) {
    auto sample = source->next();
    if (!sample) break;
    samples.push_back(std::move(*sample));
  }
  return samples;
}

BuildReport::Accuracy verify(const Options& options, const Model& model,
                             const std::shared_ptr<Engine>& engine, uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  AccuracyOptions how;
  how.seed = seed;
  const auto found = accuracy_verdict(engine, model, samples_for(options, model, *engine, seed), how);
  BuildReport::Accuracy accuracy{
      std::string(verdict_name(found.verdict())), found.planned.reasons, found.samples, found.notes, {}, 0};
  for (const TensorComparison& tensor : found.planned.tensors) {
    if (!tensor.is_output) continue;
    const auto find = [&](const std::map<std::string, double>& distances) {
      const auto at = distances.find(tensor.value);
      return at == distances.end() ? std::nan("") : at->second;
    };
    accuracy.outputs.push_back(
        {tensor.value, tensor.metrics.distances ? tensor.metrics.distances->relative_l2 : std::nan(""),
         find(found.against_declared), find(found.against_ideal)});
    for (const std::string& reason : tensor.reasons)
      accuracy.reasons.push_back(fmt::format("{}: {}", tensor.value, reason));
  }
  accuracy.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return accuracy;
}

BuildReport build(const Options& options, const CommonOptions& common, PrecisionAudit& audit) {
  const auto imported = import_model(options.model);
  BuildReport report;
  report.model = options.model;
  report.engine = options.engine;
  report.environment = environment();
  report.environment["model " + options.model] = hash_to_text(imported.hash);
  report.options = options.build.effective();
  report.notes = imported.notes;
  const auto start = std::chrono::steady_clock::now();
  if (!options.refit.empty()) options.build.require_none_for_refit();
  BuildOptions build_options = options.build.options(imported.model);
  std::shared_ptr<Engine> engine;
  if (options.refit.empty()) {
    engine = Engine::build(imported.model, build_options);
    for (const auto& types : sizes_to_prepare(*engine)) engine->prepare(types);
  } else {
    engine = refit_engine(options.refit, imported.model, build_options);
  }
  if (const auto fault = engine->fault())
    report.notes.push_back("a fault is injected on purpose: " + cpu::fault_text(*fault));
  options.build.save_timings(build_options);
  report.build_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.no_verify) report.accuracy = verify(options, imported.model, engine, common.seed);
  const auto fails = [&] {
    return report.accuracy && report.accuracy->verdict != verdict_name(Verdict::kPass);
  };
  if (fails() && build_options.tune.approximate && options.refit.empty() && !build_options.fault) {
    // Each tactic is within its bound, but a deep network may make more of their errors than it tolerates.
    report.notes.push_back("with tactics that approximate the verdict was " + report.accuracy->verdict +
                           ": they were given up");
    build_options.tune.approximate = false;
    engine = Engine::build(imported.model, build_options);
    for (const auto& types : sizes_to_prepare(*engine)) engine->prepare(types);
    options.build.save_timings(build_options);
    report.accuracy = verify(options, imported.model, engine, common.seed);
  }
  const auto saving = std::chrono::steady_clock::now();
  const bool passes = !fails();
  if (!options.engine.empty() && !passes)
    report.notes.push_back("no engine is written: it does not compute what it promises");
  if (!options.engine.empty() && passes) {
    SaveOptions save;
    if (report.accuracy) save.certificate = accuracy_json(*report.accuracy);
    save.model_name = std::filesystem::path(options.model).filename();
    save.model_hash = hash_to_text(imported.hash);
    save.options = report.options;
    save.strip_weights = options.strip_weights;
    save_engine(*engine, options.engine, save);
    report.file = std::filesystem::file_size(options.engine);
  }
  report.build_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - saving).count();
  describe(report, engine, imported.model, common.seed);
  if (!engine->prepared().empty()) audit = engine->audit(*engine->prepared()[0].plan);
  return report;
}

}  // namespace

std::function<int()> declare_build(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model");
  app.add_option("-o,--output", options->engine, "the engine file to write; none: only the report")
      ->type_name("ENGINE");
  options->build.declare(app);
  app.add_option("--data", options->data, "data as `run` takes them, for the accuracy verdict")
      ->type_name("D");
  app.footer("Options of the engine:\n" + engine_help());
  app.add_flag("--no-verify", options->no_verify, "no accuracy verdict");
  app.add_flag("--strip-weights", options->strip_weights, "leave out of the file what the model holds");
  app.add_option("--refit", options->refit,
                 "an engine whose choices are taken over, for the weights of MODEL")
      ->type_name("ENGINE");
  app.add_flag("--dump-pipeline", options->dump_pipeline,
               "print the passes in their order, and build nothing");
  return [options, &common] {
    if (options->dump_pipeline) {
      say(common, pipeline_text());
      return 0;
    }
    if (options->model.empty()) throw usage_error("MODEL is required");
    try {
      PrecisionAudit audit;
      const BuildReport report = build(*options, common, audit);
      say(common, audit_text(audit, common.verbosity > 0 ? SIZE_MAX : 10));
      say(common, build_text(report, common.verbosity > 0));
      if (!common.json.empty()) write_file(common.json, build_json(report));
      const bool passes = !report.accuracy || report.accuracy->verdict == verdict_name(Verdict::kPass);
      return passes ? 0 : 1;
    } catch (Error& error) {
      if (error.file().empty()) error.in_file(options->model);
      throw;
    }
  };
}

}  // namespace vernier
