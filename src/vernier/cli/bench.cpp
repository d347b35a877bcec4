#include <sys/resource.h>

#include <chrono>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/bench/duel.h"
#include "vernier/bench/profile.h"
#include "vernier/bench/throughput.h"
#include "vernier/cli/precision_options.h"
#include "vernier/cli/verb.h"
#include "vernier/data/data_set.h"
#include "vernier/data/random_inputs.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/onnx/import.h"
#include "vernier/report/audit_report.h"
#include "vernier/report/bench_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model;
  std::vector<std::string> versus, data, shapes;
  DuelOptions duel;
  size_t sessions = 1;
  bool profile = false;
};

BenchReport::Latency in_milliseconds(const std::vector<double>& seconds) {
  Summary s = summarise(seconds);
  for (double* value : {&s.p50, &s.p90, &s.p95, &s.p99, &s.mean, &s.min, &s.max}) *value *= 1e3;
  return {s.p50, s.p90, s.p95, s.p99, s.mean, s.min, s.max, seconds.size()};
}

// "onnxruntime", "onnxruntime=cpu", or "NAME=COMMAND".
RunnerSpec versus_spec(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals);
  if (kind == "onnxruntime" || kind == "reference")
    return {kind, equals == std::string::npos ? "" : text.substr(equals + 1), {}};
  return {"runner", text, {}};
}

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) bytes += value->is_constant() ? value->constant->byte_size() : 0;
  });
  return bytes;
}

Sample one_sample(const Model& model, const Options& options, uint64_t seed) {
  const auto shapes = parse_shapes(options.shapes);
  std::optional<Sample> sample;
  if (!options.data.empty())
    sample = open_data(model, options.data, shapes.empty() ? InputShapes{} : shapes[0])->next();
  else
    sample = RandomInputs(model, {seed, 1, {}, shapes}).next();
  if (!sample) throw bad_input("the data hold no sample");
  return std::move(*sample);
}

void add_profile(BenchReport& report, Session& session, const NamedData& inputs) {
  constexpr size_t kRuns = 20;
  const Profile measured = profile(session, inputs, kRuns);
  for (const StepTime& step : measured.steps)
    report.steps.push_back({step.kernel, step.nodes, step.milliseconds, step.fallback});
  report.watched_ms = measured.watched_ms;
  report.unwatched_ms = measured.unwatched_ms;
}

void add_memory(BenchReport& report, const Plan& plan) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report.memory = {constant_bytes(*plan.graph), plan.arena_bytes,
                   static_cast<size_t>(usage.ru_maxrss) * 1024};
}

// How the engine is built: --cpu and its options, if they are given.
BuildOptions build_options(BenchReport& report) {
  BuildOptions options;
  if (runner_specs().empty()) return options;
  const RunnerSpec& spec = runner_specs().front();
  if (runner_specs().size() > 1 || spec.kind != "cpu")
    throw usage_error("bench measures one engine, --cpu").advise("name the others with --vs");
  options.precision = parse_precision_options(spec);
  for (const auto& [name, value] : spec.options) report.options[name] = value.empty() ? "yes" : value;
  return options;
}

BenchReport measure(const Options& options, const CommonOptions& common, PrecisionAudit& audit) {
  const auto imported = import_model(options.model);
  const RunnerModel model{options.model, &imported.model};
  BenchReport report;
  report.model = options.model;
  report.environment = environment();
  report.environment["model " + options.model] = hash_to_text(imported.hash);
  report.options = {{"warmup", fmt::format("{} s", options.duel.warmup)},
                    {"duration", fmt::format("{} s", options.duel.duration)},
                    {"runs", fmt::format("at least {}", options.duel.min_runs)},
                    {"sessions", std::to_string(options.sessions)}};
  const Sample sample = one_sample(imported.model, options, common.seed);
  report.sample = sample.origin;

  const auto start = std::chrono::steady_clock::now();
  EngineRunner engine(model, build_options(report));
  engine.run(sample.inputs, {});  // the plan for these sizes is part of the build
  report.build_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  for (const auto& [key, value] : engine.description()) report.environment["cpu: " + key] = value;

  std::vector<std::unique_ptr<Runner>> others;
  std::vector<Runner*> runners{&engine};
  for (const std::string& text : options.versus)
    runners.push_back(others.emplace_back(make_runner(versus_spec(text), model, common.threads)).get());
  const DuelResult result = duel(runners, sample.inputs, options.duel);
  report.latency = in_milliseconds(result.seconds);
  for (size_t i = 0; i < others.size(); ++i) {
    report.versus.push_back({others[i]->name(), in_milliseconds(result.others[i]), result.ratios[i],
                             result.intervals[i].low, result.intervals[i].high});
    for (const auto& [key, value] : others[i]->description())
      report.environment[others[i]->name() + ": " + key] = value;
  }
  report.sessions = options.sessions;
  report.throughput_per_s =
      throughput(engine.engine(), sample.inputs, options.sessions, std::min(1.0, options.duel.duration));
  if (options.profile) add_profile(report, engine.session(), sample.inputs);
  const auto plan = engine.session().plan(sample.inputs);
  add_memory(report, *plan);
  audit = engine.engine()->audit(*plan);
  return report;
}

}  // namespace

std::function<int()> declare_bench(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.footer("The engine is --cpu; its precision options follow it:\n" + precision_help());
  app.add_option("--vs", options->versus,
                 "a runner to be timed in turn: onnxruntime, reference, or NAME=COMMAND")
      ->type_name("RUNNER");
  app.add_option("--data", options->data, "data as `run` takes them; the first sample is used")
      ->type_name("D");
  app.add_option("--shapes", options->shapes, "sizes of inputs, e.g. 'x:1x3x640x480'")
      ->type_name("INPUT:DIMS");
  app.add_option("--warmup", options->duel.warmup, "seconds before anything counts")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--duration", options->duel.duration, "seconds of each runner, at least")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--runs", options->duel.min_runs, "runs of each runner, at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--sessions", options->sessions, "sessions that run at the same time, for the throughput")
      ->check(CLI::PositiveNumber);
  app.add_flag("--profile", options->profile, "the time of each step");
  return [options, &common] {
    options->duel.seed = common.seed;
    try {
      PrecisionAudit audit;
      const BenchReport report = measure(*options, common, audit);
      const size_t rows = common.verbosity > 0 ? SIZE_MAX : 15;
      say(common, bench_text(report, rows));
      // Of an engine in the types of its model there is nothing to tell, unless it differs.
      if (!runner_specs().empty() || audit.differences() > 0) say(common, audit_text(audit, rows));
      if (!common.json.empty()) write_file(common.json, bench_json(report));
    } catch (Error& error) {
      if (!error.node().empty()) error.in_file(options->model);
      throw;
    }
    return 0;
  };
}

}  // namespace vernier
