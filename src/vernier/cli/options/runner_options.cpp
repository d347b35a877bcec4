#include "vernier/cli/options/runner_options.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/installed/drivers.h"
#include "vernier/backends/process/onnxruntime.h"
#include "vernier/backends/process/process_runner.h"
#include "vernier/backends/process/saved_run.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/builder/builder.h"
#include "vernier/cli/options/engine_help.h"
#include "vernier/cli/options/engine_options.h"
#include "vernier/cli/options/process_options.h"
#include "vernier/cli/verb.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/named_options.h"
#include "vernier/engine/planned_runner.h"

namespace vernier {

namespace {

struct Kind {
  const char* name;
  bool takes_argument;  // as the next word, if not after '='
  const char* help;     // null: not told
};

constexpr Kind kKinds[] = {
    {"reference", false,
     "--reference[=declared|ideal|planned]  the reference, in double; rounds as the model declares, never, "
     "or "
     "as the engine beside it (--cpu, --cuda) does"},
    {"onnxruntime", false, "--onnxruntime[=cpu|cuda]        ONNX Runtime in a child process"},
    {"runner", true, "--runner 'NAME=COMMAND'         any program that speaks docs/runner-protocol.md"},
    {"load-run", true, "--load-run FILE                 a run that --save-run recorded"},
    {"cpu", false, "--cpu                           the CPU engine"},
    {"engine", true, "--engine FILE                   an engine file, as `build` writes it"},
    {"tensorrt", false,
     "--tensorrt[=PYTHON]             TensorRT, by the Python package that PYTHON has; precision options "
     "follow it"},
    {"torch", false, nullptr},
};

// Options that belong to the runner before them; true: with a value.
const std::map<std::string, bool>& option_names() {
  static const std::map<std::string, bool> names = [] {
    std::map<std::string, bool> all = {{"optimization", true}, {"timeout", true}, {"runner-option", true},
                                       {"save-run", true},     {"fp8", false},    {kFaultOption, true},
                                       {kIsaOption, true}};
    for (const AcceleratorKind* kind : accelerator_kinds()) {
      for (const auto& option : kind->options) all[option.name] = *option.value != '\0';
    }
    for (const NamedOption& option : named_options()) all[option.name] = !option.is_flag();
    return all;
  }();
  return names;
}

std::vector<RunnerSpec>& specs() {
  static std::vector<RunnerSpec> found;
  return found;
}

const Kind* find_kind(const std::string& name) {
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

std::shared_ptr<EngineOnDemand> build_engine(const RunnerSpec& spec, const RunnerModel& model) {
  return build_on_demand(*model.model, engine_options(spec));
}

// The planned reference follows the plan of the very engine that stands beside it, and of no other that was
// tuned alike.
std::shared_ptr<EngineOnDemand> shared_engine(const RunnerSpec& spec, const RunnerModel& model) {
  const bool planned = std::any_of(specs().begin(), specs().end(), [](const RunnerSpec& each) {
    return each.kind == "reference" && each.argument == "planned";
  });
  if (!planned) return build_engine(spec, model);
  using Options = std::map<std::string, std::string>;
  static std::map<std::tuple<const Model*, std::string, std::string, Options>,
                  std::shared_ptr<EngineOnDemand>>
      engines;
  auto& engine = engines[{model.model, spec.kind, spec.argument, spec.options}];
  if (!engine) engine = build_engine(spec, model);
  return engine;
}

// The engine meant is the next of the command line, else the one before.
std::unique_ptr<Runner> make_planned(const RunnerSpec& planned, const RunnerModel& model) {
  std::optional<RunnerSpec> engine;
  bool behind = false;
  for (const RunnerSpec& spec : specs()) {
    behind = behind || (spec.kind == planned.kind && spec.argument == planned.argument);
    if (!is_built_engine(spec)) continue;
    engine = spec;
    if (behind) break;
  }
  if (!engine)
    throw usage_error("--reference=planned needs the engine whose plan it follows")
        .advise("add --cpu or --cuda, with its precision options");
  engine->options.erase(kFaultOption);  // the reference stays right
  engine->options.erase("save-run");
  return std::make_unique<PlannedRunner>(shared_engine(*engine, model));
}

bool is_python(const std::string& word) {
  return std::filesystem::path(word).filename().string().starts_with("python") && !word.ends_with(".onnx");
}

}  // namespace

void take_runner_arguments(std::vector<std::string>& arguments) {
  std::vector<std::string> rest;
  bool is_against = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const size_t equals = word.find('=');
    const std::string name =
        word.starts_with("--") ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    const Kind* kind = find_kind(name);
    const auto option = option_names().find(name);
    // Without a name, --against says what the next runner is for.
    if (word == "--against" && i + 1 < arguments.size() && arguments[i + 1].starts_with("--")) {
      is_against = true;
      continue;
    }
    const bool is_runner = kind != nullptr || find_accelerator_kind(name) != nullptr;
    if (!is_runner && option == option_names().end()) {
      rest.push_back(word);
      continue;
    }
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (equals == std::string::npos &&
        (is_runner ? kind != nullptr && kind->takes_argument : option->second)) {
      if (++i >= arguments.size()) throw usage_error("{} needs an argument", word);
      value = arguments[i];
    }
    // An interpreter may also be the next word.
    if (name == "tensorrt" && value.empty() && i + 1 < arguments.size() && is_python(arguments[i + 1]))
      value = arguments[++i];
    if (is_runner) {
      specs().push_back({name, std::move(value), {}, std::exchange(is_against, false)});
    } else if (specs().empty()) {
      throw usage_error("--{} stands before any runner", name)
          .advise("runner options belong to the runner before them");
    } else {
      specs().back().options[name] += (specs().back().options[name].empty() ? "" : ",") + value;
    }
  }
  arguments = std::move(rest);
}

const std::vector<RunnerSpec>& runner_specs() {
  return specs();
}

std::string runners_text() {
  std::string runners;
  for (const RunnerSpec& spec : runner_specs()) {
    runners += fmt::format("{}--{}{}", runners.empty() ? "" : " ", spec.kind,
                           spec.argument.empty() ? "" : "=" + spec.argument);
    for (const auto& [name, value] : spec.options)
      runners += fmt::format(" --{}{}", name, value.empty() ? "" : "=" + value);
  }
  return runners;
}

std::vector<std::string> runner_option_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.push_back(fmt::format("--{}", kind.name));
  for (const AcceleratorKind* kind : accelerator_kinds()) names.push_back(fmt::format("--{}", kind->name));
  for (const auto& [name, takes_value] : option_names()) names.push_back("--" + name);
  return names;
}

bool is_built_engine(const RunnerSpec& spec) {
  return spec.kind == "cpu" || find_accelerator_kind(spec.kind) != nullptr;
}

void forget_runners() {
  specs().clear();
}

void limit_isa_as_asked(bool only_last) {
  std::optional<std::string> asked;
  bool first = true;
  for (const RunnerSpec& spec : specs()) {
    if ((spec.kind != "engine" && !is_built_engine(spec)) || (only_last && &spec != &specs().back()))
      continue;
    const auto found = spec.options.find(kIsaOption);
    const auto level = found == spec.options.end() ? std::nullopt : std::optional(found->second);
    if (!first && level != asked)
      throw usage_error("--isa limits all engines of a command, but they differ in it")
          .advise("give each the same, or compare what two commands --save-run");
    asked = level;
    first = false;
  }
  if (!asked) return;
  cpu::limit_isa(cpu::parse_isa_level(*asked));
}

std::string injected_faults() {
  std::string text;
  for (const RunnerSpec& spec : specs()) {
    if (const auto found = spec.options.find(kFaultOption); found != spec.options.end())
      text += (text.empty() ? "" : " ") + found->second;
  }
  return text;
}

std::string runner_help() {
  constexpr size_t kRunnerColumn = 34;
  std::string text = "Runners, each repeatable; the others are compared with the first, or with --against:\n";
  for (const Kind& kind : kKinds) {
    if (kind.help != nullptr) text += fmt::format("  {}\n", kind.help);
  }
  for (const AcceleratorKind* kind : accelerator_kinds())
    text +=
        help_lines(word_of(*kind), fmt::format("an engine on {} (default {}: 0)", kind->device, kind->number),
                   kRunnerColumn);
  return text + "Options of the runner before them:\n" +
         option_lines("optimization", "disable|basic|extended|all", "of ONNX Runtime (default: all)") +
         option_lines("timeout", "SECONDS",
                      "for loading, and for each run, of a child process (default: 600)") +
         option_lines("runner-option", "KEY=VALUE",
                      "passed on to a --runner, or to the session of ONNX Runtime") +
         option_lines("save-run", "FILE", "records what the runner yields") + accelerators_help() +
         "Of an engine that is built (--cpu, --cuda, …), and of --reference=planned:\n" + engine_help();
}

std::unique_ptr<Runner> make_late_runner(const RunnerSpec& spec, const RunnerModel& model, int threads,
                                         double seconds) {
  auto process = process_options(spec, threads);
  if (!process) return make_runner(spec, model, threads);
  process->loads_late = true;
  process->load_timeout = std::min(process->load_timeout, seconds);
  process->run_timeout = std::min(process->run_timeout, seconds);
  return std::make_unique<ProcessRunner>(model, std::move(*process));
}

std::unique_ptr<Runner> make_runner(const RunnerSpec& spec, const RunnerModel& model, int threads) {
  if (spec.kind == "reference") {
    allow_options(spec, {});
    if (spec.argument == "planned") return make_planned(spec, model);
    if (!spec.argument.empty() && spec.argument != "declared" && spec.argument != "ideal")
      throw usage_error("--reference={} is not declared, ideal or planned", spec.argument);
    return std::make_unique<ReferenceRunner>(
        model, spec.argument == "ideal" ? ReferenceMode::kIdeal : ReferenceMode::kDeclared);
  }
  if (is_built_engine(spec)) return std::make_unique<EngineRunner>(shared_engine(spec, model), spec.kind);
  if (spec.kind == "engine") {
    allow_options(spec, {kIsaOption});
    return std::make_unique<EngineRunner>(load_engine(spec.argument).engine, "engine");
  }
  if (auto process = process_options(spec, threads))
    return std::make_unique<ProcessRunner>(model, std::move(*process));
  if (spec.kind == "load-run") {
    allow_options(spec, {});
    return std::make_unique<LoadedRun>(spec.argument);
  }
  throw unsupported("--{} is not part of this version", spec.kind)
      .advise("use --reference, --onnxruntime, --runner or --load-run");
}

}  // namespace vernier
