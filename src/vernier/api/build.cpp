// The options and the report of a build, as the public interface has them.
#include <cmath>

#include "vernier/api/engine_state.h"
#include "vernier/engine/builder.h"
#include "vernier/engine/quarantine.h"
#include "vernier/precision/json.h"

namespace vernier::api {

namespace {

PrecisionOptions inner_options(const v1::PrecisionOptions& options) {
  if (options.bf16 && options.fp16) throw usage_error("bf16 and fp16 exclude each other");
  PrecisionOptions result;
  result.bf16 = options.bf16;
  result.fp16 = options.fp16;
  result.int8 = options.int8;
  result.int4 = options.int4;
  result.best = options.best;
  result.layers = parse_layer_types(options.layer_precisions);
  result.outputs = parse_layer_types(options.layer_output_types);
  result.plan = options.plan;
  result.calibration = options.calibration;
  switch (options.constraints) {
    case v1::PrecisionConstraints::kObey: result.constraints = PrecisionConstraints::kObey; break;
    case v1::PrecisionConstraints::kPrefer: result.constraints = PrecisionConstraints::kPrefer; break;
    case v1::PrecisionConstraints::kNone: result.constraints = PrecisionConstraints::kNone; break;
  }
  return result;
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
  result.keep_defaults = options.keep_defaults;
  result.deterministic = options.deterministic;
  result.workspace = options.workspace;
  result.passes.disabled = {options.disabled_passes.begin(), options.disabled_passes.end()};
  if (options.exact_passes_only)
    result.passes.forbidden = {NumericalClass::kReassociating, NumericalClass::kNarrowing,
                               NumericalClass::kApproximate};
  result.precision = inner_options(options.precision);
  for (const v1::ShapeProfile& profile : options.profiles) result.profiles.push_back(inner_profile(profile));
  result.tune.level = options.optimization_level;
  result.tune.approximate = !options.exact_passes_only;
  result.tune.only = {options.allowed_tactics.begin(), options.allowed_tactics.end()};
  result.tune.isolate = options.isolate_trials;
  result.tune.without = {options.denied_tactics.begin(), options.denied_tactics.end()};
  if (!options.timing_cache.empty()) {
    result.timing_cache = std::make_shared<TimingCache>(timing_device());
    result.timing_cache->load(options.timing_cache);
  }
  return result;
}

v1::Verdict outer_verdict(std::string_view name) {
  constexpr std::pair<Verdict, v1::Verdict> kVerdicts[] = {{Verdict::kPass, v1::Verdict::kPass},
                                                           {Verdict::kMistrusted, v1::Verdict::kMistrusted},
                                                           {Verdict::kNotCompared, v1::Verdict::kNotCompared},
                                                           {Verdict::kFail, v1::Verdict::kFail}};
  for (const auto& [inner, outer] : kVerdicts) {
    if (name == verdict_name(inner)) return outer;
  }
  return v1::Verdict::kNotVerified;
}

void add_verdict(const AccuracyReport& accuracy, v1::BuildReport& report) {
  report.verdict = outer_verdict(verdict_name(accuracy.verdict()));
  report.reasons = accuracy.planned.reasons;
  const auto find = [](const std::map<std::string, double>& distances, const std::string& value) {
    const auto at = distances.find(value);
    return at == distances.end() ? std::nan("") : at->second;
  };
  for (const TensorComparison& tensor : accuracy.planned.tensors) {
    if (!tensor.is_output) continue;
    report.outputs.push_back(
        {tensor.value, tensor.metrics.distances ? tensor.metrics.distances->relative_l2 : std::nan(""),
         find(accuracy.against_declared, tensor.value), find(accuracy.against_ideal, tensor.value)});
    for (const std::string& reason : tensor.reasons)
      report.reasons.push_back(fmt::format("{}: {}", tensor.value, reason));
  }
  for (const std::string& note : accuracy.notes) report.notes.push_back(note);
}

// What the file says of the build's verdict; nothing where there was none.
void add_certificate(const std::string& certificate, v1::BuildReport& report) {
  if (certificate.empty()) return;
  const JsonValue json = JsonValue::parse(certificate);
  report.verdict = outer_verdict(json.at("verdict").string());
  for (const JsonValue& reason : json.at("reasons").items()) report.reasons.push_back(reason.string());
  for (const JsonValue& note : json.at("notes").items()) report.notes.push_back(note.string());
  for (const JsonValue& output : json.at("relative_l2").items()) {
    const auto number = [&](const char* name) {
      try {
        return output.at(name).real();
      } catch (const Error&) {
        return std::nan("");  // JSON has no number for it
      }
    };
    report.outputs.push_back(
        {output.at("name").string(), number("planned"), number("declared"), number("ideal")});
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
  for (const QuarantinedTactic& each : quarantined_tactics(*built.engine))
    report.notes.push_back("in quarantine: " + each.text());
  report.build_seconds = built.build_seconds;
  report.verdict_seconds = built.verdict_seconds;
  if (built.accuracy) add_verdict(*built.accuracy, report);
  return describe(std::move(built.engine), std::move(report));
}

std::shared_ptr<const EngineState> load(const std::filesystem::path& path) {
  LoadedEngine loaded = load_engine(path);
  v1::BuildReport report;
  add_certificate(loaded.manifest.certificate, report);
  return describe(std::move(loaded.engine), std::move(report));
}

}  // namespace vernier::api
