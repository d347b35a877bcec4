#include "vernier/cli/verbs/reduced_runners.h"

#include <sstream>

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/cli/options/process_options.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/reduce/forked_runner.h"

namespace vernier {

namespace {

// Bounds by name as text that a process gives another. Names may hold any character, so their lengths stand
// before them.
std::string bounds_text(const std::map<std::string, DerivedBound>& bounds) {
  std::string text;
  for (const auto& [name, bound] : bounds)
    text += fmt::format("{:a} {:a} {} {} {}\n{}{}{}", bound.relative_l2, bound.max_abs, name.size(),
                        bound.roundings.size(), bound.remark.size(), name, bound.roundings, bound.remark);
  return text;
}

std::map<std::string, DerivedBound> parse_bounds(const std::string& text) {
  std::map<std::string, DerivedBound> bounds;
  std::istringstream stream(text);
  std::string relative_l2, max_abs;
  size_t sizes[3];
  while (stream >> relative_l2 >> max_abs >> sizes[0] >> sizes[1] >> sizes[2]) {
    stream.get();  // the end of the line
    std::string texts[3];
    for (size_t i = 0; i < 3; ++i) {
      texts[i].resize(sizes[i]);
      stream.read(texts[i].data(), static_cast<std::streamsize>(sizes[i]));
    }
    bounds[texts[0]] = {std::strtod(relative_l2.c_str(), nullptr), std::strtod(max_abs.c_str(), nullptr),
                        texts[1], texts[2]};
  }
  return bounds;
}

RunnerSpec without_recording(RunnerSpec spec) {
  spec.options.erase("save-run");
  return spec;
}

std::string arguments_of(const RunnerSpec& spec) {
  std::string text = "--" + spec.kind;
  if (spec.kind == "runner")
    text += " " + quoted_for_shell(spec.argument);
  else if (!spec.argument.empty())
    text += "=" + quoted_for_shell(spec.argument);
  for (const auto& [name, value] : without_recording(spec).options)
    text += " --" + name + (value.empty() ? "" : "=" + quoted_for_shell(value));
  return text;
}

}  // namespace

MakeRunner reduced_runner(const RunnerSpec& spec, const CommonOptions& common) {
  if (spec.kind == "engine" || spec.kind == "load-run")
    throw usage_error("--{} knows one model only, but smaller ones are to be run", spec.kind)
        .advise("give the engine that made it, as --cpu with its options");
  if (spec.kind == "reference" && spec.argument == "planned")
    throw usage_error("--reference=planned follows one engine, but smaller models have others")
        .advise("compare with --reference");
  const RunnerSpec plain = without_recording(spec);
  const int threads = common.threads;
  if (!is_built_engine(spec)) {
    return [plain, threads](const RunnerModel& model, double seconds) {
      return make_late_runner(plain, model, threads, seconds);
    };
  }
  return [plain, threads](const RunnerModel& model, double seconds) -> std::unique_ptr<Runner> {
    auto make = [plain, threads, model] { return make_runner(plain, model, threads); };
    return std::make_unique<ForkedRunner>(plain.kind, std::move(make), seconds);
  };
}

std::map<std::string, DerivedBound> bounds_of_reduced(Runner& runner, const NamedData& inputs,
                                                      uint64_t seed) {
  auto* forked = dynamic_cast<ForkedRunner*>(&runner.original());
  if (forked == nullptr) return {};
  return parse_bounds(
      forked->ask([&](Runner& engine) { return bounds_text(promised_bounds(engine, inputs, seed)); }));
}

ReproEngine repro_engine(const RunnerSpec& spec, const CommonOptions& common, bool anonymous) {
  ReproEngine engine;
  engine.name = spec.kind;
  engine.threads = common.threads;
  if (is_built_engine(spec) || spec.kind == "reference") return engine;
  const ProcessOptions process = process_options(spec, common.threads).value();
  engine.name = process.name;
  engine.options = process.options;
  engine.timeout = process.run_timeout;
  if (spec.kind == "onnxruntime") {
    engine.kind = ReproEngine::Kind::kOnnxRuntime;
    return engine;
  }
  engine.kind = ReproEngine::Kind::kProtocol;
  engine.command = process.command;
  if (!anonymous) engine.folder = std::filesystem::current_path().string();
  return engine;
}

std::string runner_arguments(const RunnerRoles& roles) {
  const std::string against = roles.against == nullptr ? "--reference" : arguments_of(*roles.against);
  return against + " " + arguments_of(*roles.engines.front());
}

}  // namespace vernier
