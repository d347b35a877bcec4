// The options and the report of a build, as the public interface has them.
#include "vernier/api/engine_state.h"
#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/installed/drivers.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/named_options.h"
#include "vernier/engine/quarantine.h"

namespace vernier::api {

namespace {

// Writes what the fields say over what was said by name.
void add_fields(const v1::PrecisionOptions& options, std::map<std::string, std::string>& named) {
  const std::pair<const char*, bool> flags[] = {{"bf16", options.bf16}, {"fp16", options.fp16},
                                                {"int8", options.int8}, {"int4", options.int4},
                                                {"best", options.best}, {"tf32", options.tf32}};
  for (const auto& [name, given] : flags) {
    if (given) named[name] = "1";
  }
  const std::pair<const char*, std::string> texts[] = {{"layer-precisions", options.layer_precisions},
                                                       {"layer-output-types", options.layer_output_types},
                                                       {"plan", options.plan.string()},
                                                       {"calibration", options.calibration.string()}};
  for (const auto& [name, text] : texts) {
    if (!text.empty()) named[name] = text;
  }
  switch (options.constraints) {
    case v1::PrecisionConstraints::kObey: break;
    case v1::PrecisionConstraints::kPrefer: named["precision-constraints"] = "prefer"; break;
    case v1::PrecisionConstraints::kNone: named["precision-constraints"] = "none"; break;
  }
}

ShapeProfile inner_profile(const v1::ShapeProfile& profile) {
  ShapeProfile result;
  for (const v1::InputSizes& sizes : profile) {
    const auto& min = sizes.min.empty() ? sizes.opt : sizes.min;
    const auto& max = sizes.max.empty() ? sizes.opt : sizes.max;
    if (min.size() != sizes.opt.size() || max.size() != sizes.opt.size())
      throw bad_input("the profile of input '{}' has {} smallest, {} tuned and {} largest sizes", sizes.input,
                      min.size(), sizes.opt.size(), max.size());
    auto& ranges = result.inputs[sizes.input];
    for (size_t i = 0; i < sizes.opt.size(); ++i) ranges.push_back({min[i], sizes.opt[i], max[i]});
  }
  return result;
}

BuildOptions inner_options(const v1::BuildOptions& options) {
  constexpr int kMostLevel = 5;
  if (options.optimization_level < 0 || options.optimization_level > kMostLevel)
    throw usage_error("optimization level {}: it goes from 0 to {}", options.optimization_level, kMostLevel);
  BuildOptions result;
  auto named = options.named;
  add_fields(options.precision, named);
  if (options.deterministic) named["deterministic"] = "1";
  if (options.isolate_trials) named["isolate-trials"] = "1";
  set_named_options(named, result);
  result.keep_defaults = options.keep_defaults;
  result.workspace = options.workspace;
  result.passes.disabled = {options.disabled_passes.begin(), options.disabled_passes.end()};
  if (options.exact_passes_only)
    result.passes.forbidden = {NumericalClass::kReassociating, NumericalClass::kNarrowing,
                               NumericalClass::kApproximate};
  for (const std::string& device : options.devices) result.accelerators.push_back(accelerator_driver(device));
  for (const v1::ShapeProfile& profile : options.profiles) result.profiles.push_back(inner_profile(profile));
  result.tune.level = options.optimization_level;
  result.tune.approximate = !options.exact_passes_only;
  result.tune.only = {options.allowed_tactics.begin(), options.allowed_tactics.end()};
  result.tune.without = {options.denied_tactics.begin(), options.denied_tactics.end()};
  if (!options.inject_fault.empty()) result.fault = parse_fault(options.inject_fault, cpu::tactic_names());
  if (!options.timing_cache.empty()) {
    result.timing_cache = std::make_shared<TimingCache>(timing_device());
    result.timing_cache->load(options.timing_cache);
  }
  return result;
}

v1::Verdict outer_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return v1::Verdict::kPass;
    case Verdict::kMistrusted: return v1::Verdict::kMistrusted;
    case Verdict::kNotCompared: return v1::Verdict::kNotCompared;
    case Verdict::kFail: return v1::Verdict::kFail;
  }
  return v1::Verdict::kNotVerified;
}

// Adds the certificate of an engine that was just built, or that its file holds; adds nothing where it was
// not judged.
void add_certificate(const std::optional<Certificate>& certificate, v1::BuildReport& report) {
  if (!certificate) return;
  report.verdict = outer_verdict(certificate->verdict);
  report.reasons = certificate->reasons;
  report.notes.insert(report.notes.end(), certificate->notes.begin(), certificate->notes.end());
  for (const Certificate::Output& output : certificate->outputs)
    report.outputs.push_back({output.name, output.planned, output.declared, output.ideal});
}

// How many steps run where, and why nodes that a device was asked for are left to another.
void add_devices(const Engine& engine, std::vector<std::string>& notes) {
  for (const auto& prepared : engine.prepared()) {
    std::map<std::string, size_t> counts;
    for (const StepDescription& step : describe_steps(*prepared.plan)) {
      ++counts[step.device];
      if (step.refusal.empty()) continue;
      notes.push_back(fmt::format("{} runs on {}: {}; {} bytes are copied for it",
                                  fmt::join(step.nodes, ", "), step.device, step.refusal, step.copied));
    }
    for (const auto& [device, count] : counts)
      notes.push_back(fmt::format("{} steps run on {}", count, device));
  }
}

}  // namespace

std::shared_ptr<const EngineState> build(const Model& model, const v1::BuildOptions& options,
                                         std::vector<std::string> notes) {
  const BuildOptions inner = inner_options(options);
  BuiltEngine built = Builder(model, inner).build({}, options.verify ? Judge::kAlways : Judge::kNever);
  if (!options.timing_cache.empty()) inner.timing_cache->save(options.timing_cache);
  v1::BuildReport report;
  report.notes = std::move(notes);
  report.notes.insert(report.notes.end(), built.notes.begin(), built.notes.end());
  if (const auto fault = built.engine->fault())
    report.notes.push_back("a fault is injected on purpose: " + fault_text(*fault));
  for (const QuarantinedTactic& each : quarantined_tactics(*built.engine))
    report.notes.push_back("in quarantine: " + each.text());
  if (!inner.accelerators.empty()) add_devices(*built.engine, report.notes);
  report.build_seconds = built.build_seconds;
  report.verdict_seconds = built.verdict_seconds;
  add_certificate(built.certificate, report);
  return describe(std::move(built.engine), std::move(report));
}

std::shared_ptr<const EngineState> load(const std::filesystem::path& path) {
  LoadedEngine loaded = load_engine(path);
  v1::BuildReport report;
  add_certificate(loaded.manifest.certificate, report);
  return describe(std::move(loaded.engine), std::move(report));
}

}  // namespace vernier::api
