#include <chrono>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/bench/paired_timing.h"
#include "vernier/bench/profile.h"
#include "vernier/bench/throughput.h"
#include "vernier/builder/builder.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/build_options.h"
#include "vernier/cli/options/engine_help.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/page_writer.h"
#include "vernier/cli/unloaded_runners.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/bench_decoding.h"
#include "vernier/cli/verbs/bench_profile.h"
#include "vernier/cli/verbs/report_parts.h"
#include "vernier/data/data_set.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/quarantine.h"
#include "vernier/ir/clone.h"
#include "vernier/page/overlays.h"
#include "vernier/page/sentences.h"
#include "vernier/report/bench_report.h"
#include "vernier/report/precision/plan_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, engine;
  BuildArguments build;
  std::vector<std::string> versus, versus_options, data, shapes;
  PairedTimingOptions paired_timing;
  size_t sessions = 1;
  DecodingArguments decoding;
  PageOptions page;
  bool profile = false, no_verify = false;
};

// "onnxruntime", "onnxruntime=cpu", or "NAME=COMMAND".
RunnerSpec versus_spec(const std::string& text, const std::vector<std::string>& options) {
  const size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals);
  if (kind == "onnxruntime" || kind == "reference")
    return {kind, equals == std::string::npos ? "" : text.substr(equals + 1), {}};
  RunnerSpec spec{"runner", text, {}};
  if (!options.empty()) spec.options["runner-option"] = fmt::format("{}", fmt::join(options, ","));
  return spec;
}

Sample one_sample(const Model& model, const Options& options, uint64_t seed) {
  auto shapes = parse_shapes(options.shapes);
  if (options.decoding.given()) {
    if (!options.data.empty()) throw usage_error("--decode makes its data: --data does not go with it");
    shapes = {options.decoding.sizes_of_a_token(model, shapes)};
  }
  std::optional<Sample> sample;
  if (!options.data.empty())
    sample = open_data(model, options.data, shapes.empty() ? InputShapes{} : shapes[0])->next();
  else
    sample = RandomInputs(model, {seed, 1, {}, shapes}).next();
  if (!sample) throw bad_input("the data hold no sample");
  if (options.decoding.given()) DecodingArguments::choose_branch(model, sample->inputs);
  return std::move(*sample);
}

// Holds the engine that is measured: built from a model, or loaded from a file.
struct Measured {
  ImportedModel imported;  // of an engine file: its graph, for data to be made for
  std::shared_ptr<const Engine> engine;
  Sample sample;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Gives the file of --engine, which is a runner for other verbs; "" without it.
std::string engine_file() {
  const RunnerSpec& spec = runner_specs().back();
  if (spec.kind != "engine") return "";
  for (const auto& [name, value] : spec.options) {
    if (name != kIsaOption) throw usage_error("--{} does not apply to --engine: it is built", name);
  }
  return spec.argument;
}

// Loads an engine file; gives what it says of its model.
Manifest open_engine(const std::string& path, Measured& tested, BenchReport& report) {
  const auto start = std::chrono::steady_clock::now();
  auto loaded = load_engine(path);
  report.load_ms = seconds_since(start) * 1e3;
  report.environment["model"] = loaded.manifest.model_name + " " + loaded.manifest.model_hash;
  tested.engine = std::move(loaded.engine);
  return std::move(loaded.manifest);
}

Measured open_engine(const Options& options, BenchReport& report) {
  Measured tested;
  if (is_engine_file(options.model)) {
    // Data are made for its graph; the runners beside it need a model file.
    if (!options.versus.empty())
      throw usage_error("--vs needs a model, which an engine file is not")
          .advise("write MODEL --engine FILE");
    open_engine(options.model, tested, report);
    tested.imported.model.graph = clone(tested.engine->graph());
    return tested;
  }
  tested.imported = open_model(options.model);
  const std::string hash = hash_to_text(tested.imported.hash);
  report.environment["model " + options.model] = hash;
  if (!options.engine.empty()) {
    const Manifest manifest = open_engine(options.engine, tested, report);
    if (manifest.model_hash != hash)
      throw bad_input("the engine was built from {} {}, but the model is {}", manifest.model_name,
                      manifest.model_hash, hash)
          .in_file(options.engine)
          .advise("build it again, from this model");
    return tested;
  }
  return tested;
}

// The engine that `build` would give for the sample, with what is to be told of it.
void build_engine(Measured& tested, const Options& options, uint64_t seed, BenchReport& report) {
  const Model& model = tested.imported.model;
  const BuildOptions build = options.build.options(model);
  ProofOptions how;
  how.seed = seed;
  Builder builder(model, build);
  // Perhaps a profile holds these sizes, and is tuned at others only.
  builder.add_sizes(input_types(builder.engine()->graph(), tested.sample.inputs));
  BuiltEngine made = builder.build({tested.sample}, options.no_verify ? Judge::kNever : Judge::kAlways, how);
  tested.engine = std::move(made.engine);
  report.build_s = made.build_seconds;
  report.environment["accuracy"] =
      made.certificate ? std::string(verdict_name(made.certificate->verdict)) : "not verified";
  size_t quarantined = 0;
  for (size_t i = 0; i < made.notes.size(); ++i)
    report.environment[fmt::format("build note {}", i + 1)] = made.notes[i];
  for (const QuarantinedTactic& each : quarantined_tactics(*tested.engine))
    report.environment[fmt::format("in quarantine {}", ++quarantined)] = each.text();
  options.build.save_timings(build);
}

void write_pages(const Options& options, const BenchReport& report, const PairedTimes& times,
                 const Measured& tested, const Plan& plan) {
  const PageOptions& page = options.page;
  const Graph& graph = *tested.imported.model.graph;
  if (!page.trace.empty()) write_file(page.trace, chrome_trace_json(report));
  if (!page.node_data.empty()) write_file(page.node_data, node_data_json(report, graph.name));
  if (page.html.empty()) return;
  PageContent content{.sentence = sentence_of(report),
                      .report = bench_json(report),
                      .graph = drawn_model(options.model, graph, &plan, tested.engine.get())};
  const auto add_runs = [&](const std::string& runner, const std::vector<double>& seconds) {
    auto& runs = content.runs_ms[runner];
    runs.reserve(seconds.size());
    for (const double each : seconds) runs.push_back(each * 1e3);
  };
  add_runs(report.device, times.seconds);
  for (size_t i = 0; i < times.others.size(); ++i) add_runs(report.versus[i].runner, times.others[i]);
  write_page(page, std::move(content));
}

void tell(const BenchReport& report, const PrecisionAudit& audit, const CommonOptions& common) {
  const size_t rows = common.verbosity > 0 ? SIZE_MAX : 15;
  say(common, bench_text(report, rows));
  // An engine in the types of its model has nothing to tell, unless it differs.
  if (!runner_specs().back().options.empty() || audit.differences() > 0) say(common, audit_text(audit, rows));
  if (!common.json.empty()) write_file(common.json, bench_json(report));
}

// Measures, and tells and writes what was measured. Runners that do not load are added to `unloaded`.
void measure(const Options& options, const CommonOptions& common, UnloadedRunners& unloaded) {
  BenchReport report;
  report.model = options.model;
  report.environment = environment();
  Measured tested = open_engine(options, report);
  const RunnerModel model{options.model, &tested.imported.model};
  report.options = options.build.effective();
  report.options.insert({{"warmup", fmt::format("{} s", options.paired_timing.warmup)},
                         {"duration", fmt::format("{} s", options.paired_timing.duration)},
                         {"runs", fmt::format("at least {}", options.paired_timing.min_runs)},
                         {"sessions", std::to_string(options.sessions)}});
  tested.sample = one_sample(tested.imported.model, options, common.seed);
  const Sample& sample = tested.sample;
  report.sample = sample.origin;
  if (!report.load_ms) build_engine(tested, options, common.seed, report);

  const auto start = std::chrono::steady_clock::now();
  report.device = tested.engine->device();
  EngineRunner engine(tested.engine, report.device);
  const Trace outputs = engine.run(sample.inputs, {});
  report.first_run_ms = seconds_since(start) * 1e3;

  for (const auto& [key, value] : engine.description())
    report.environment[report.device + ": " + key] = value;

  std::vector<std::unique_ptr<Runner>> others;
  std::vector<Runner*> runners{&engine};
  for (const std::string& text : options.versus) {
    auto other = unloaded.make(versus_spec(text, options.versus_options), model, common.threads);
    if (other != nullptr) runners.push_back(others.emplace_back(std::move(other)).get());
  }
  const PairedTimes result = time_paired(runners, sample.inputs, options.paired_timing);
  report.latency = in_milliseconds(result.seconds);
  for (size_t i = 0; i < others.size(); ++i) {
    report.versus.push_back({others[i]->name(), in_milliseconds(result.others[i]), result.ratios[i],
                             result.intervals[i].low, result.intervals[i].high});
    for (const auto& [key, value] : others[i]->description())
      report.environment[others[i]->name() + ": " + key] = value;
  }
  for (const UnloadedRunner& each : unloaded.all())
    report.versus.push_back({.runner = each.name, .latency = {}, .failure = each.text()});
  if (options.decoding.given())
    report.decoding = options.decoding.measure(engine.engine(), tested.imported.model,
                                               parse_shapes(options.shapes), common.seed);
  report.sessions = options.sessions;
  report.throughput_per_s = throughput(engine.engine(), sample.inputs, options.sessions,
                                       std::min(1.0, options.paired_timing.duration));
  Session& session = engine.session(sample.inputs);
  const auto plan = session.plan_with_graph(sample.inputs);
  if (const std::string captured = captures_text(*plan, session.replays()); !captured.empty())
    report.environment[report.device + ": captured"] = captured;
  const FallbackTime fallback = fallback_time(session, sample.inputs);
  report.fallback = {fallback.steps, fallback.share};
  add_memory(report, *plan);  // before the peak of the machine is measured, which takes memory, too
  if (options.profile) add_profile(report, session, sample.inputs);
  if (common.observer != nullptr && common.observer->bench)
    common.observer->bench({report, result.seconds, sample.inputs, outputs});
  tell(report, engine.engine()->audit(*plan), common);
  write_pages(options, report, result, tested, *plan);
}

}  // namespace

std::function<int()> declare_bench(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model, or an engine file")->required();
  options->build.declare(app);
  app.footer("--engine FILE: an engine file of MODEL, to be measured instead of what is built now\n\n" +
             built_engine_help());
  app.add_option("--vs", options->versus, "a runner to be timed in turn: onnxruntime, or NAME=COMMAND")
      ->type_name("RUNNER");
  app.add_option("--vs-option", options->versus_options, "KEY=VALUE, passed on to each NAME=COMMAND")
      ->type_name("KEY=VALUE");
  app.add_option("--data", options->data, "data as `run` takes them; the first sample is used")
      ->type_name("D");
  app.add_option("--shapes", options->shapes, "sizes of inputs, e.g. 'x:1x3x640x480'")
      ->type_name("INPUT:DIMS");
  options->decoding.declare(app);
  app.add_option("--warmup", options->paired_timing.warmup, "seconds before anything counts")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--duration", options->paired_timing.duration, "seconds of each runner, at least")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--runs", options->paired_timing.min_runs, "runs of each runner, at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--sessions", options->sessions, "sessions that run at the same time, for the throughput")
      ->check(CLI::PositiveNumber);
  app.add_flag("--no-verify", options->no_verify, "no accuracy verdict of what is built");
  app.add_flag("--profile", options->profile, "the time of each step, and its share of the roofline");
  options->page.declare_html(app);
  options->page.declare_node_data(app, "the time of every node, which takes --profile,");
  options->page.declare_trace(app);
  return [options, &common] {
    options->paired_timing.seed = common.seed;
    options->page.require();
    if (!options->profile && !(options->page.trace + options->page.node_data).empty())
      throw usage_error("--trace and --node-data are about the times of steps").advise("add --profile");
    try {
      options->engine = engine_file();
      UnloadedRunners unloaded;
      measure(*options, common, unloaded);
      if (!unloaded.empty()) return unloaded.status();
    } catch (Error& error) {
      if (!error.node().empty()) error.in_file(options->model);
      throw;
    }
    return 0;
  };
}

}  // namespace vernier
