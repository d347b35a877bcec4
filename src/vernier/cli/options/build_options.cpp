#include "vernier/cli/options/build_options.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/installed/drivers.h"
#include "vernier/cli/options/engine_options.h"
#include "vernier/compile/pipelines.h"
#include "vernier/data/input_shapes.h"
#include "vernier/engine/workspace.h"

namespace vernier {

namespace {

// The sizes of every input that needs data; of those that are not named, what the named ones say of symbols.
ShapeProfile profile_of(const Model& model, const InputShapes& min, const InputShapes& opt,
                        const InputShapes& max) {
  const SymbolValues smallest = symbols_of(model, min), tuned = symbols_of(model, opt),
                     largest = symbols_of(model, max);
  ShapeProfile profile;
  for (const Value* input : required_inputs(model)) {
    const Dims low = input_dims(*input, smallest, min), middle = input_dims(*input, tuned, opt),
               high = input_dims(*input, largest, max);
    for (size_t i = 0; i < middle.size(); ++i)
      profile.inputs[input->name].push_back({low.at(i), middle[i], high.at(i)});
  }
  check_profile(profile, *model.graph);
  return profile;
}

// trtexec's rule: sizes that are not given are as --opt-shapes.
std::vector<ShapeProfile> profiles_of(const Model& model, const BuildArguments& arguments) {
  const auto opt = parse_shapes(arguments.opt_shapes);
  const auto others = [&](const std::vector<std::string>& texts, const char* option) {
    const auto given = parse_shapes(texts);
    if (!given.empty() && given.size() != opt.size())
      throw usage_error("{} profiles have --opt-shapes, and {} have {}", opt.size(), given.size(), option);
    auto shapes = opt;
    for (size_t i = 0; i < given.size(); ++i) {
      for (const auto& [name, sizes] : given[i]) shapes[i][name] = sizes;
    }
    return shapes;
  };
  const auto min = others(arguments.min_shapes, "--min-shapes"),
             max = others(arguments.max_shapes, "--max-shapes");
  std::vector<ShapeProfile> profiles;
  for (size_t i = 0; i < opt.size(); ++i) profiles.push_back(profile_of(model, min[i], opt[i], max[i]));
  return profiles;
}

// The backend takes this where no tactic is named: with a plus, no tactic beside it.
constexpr const char* kOwnChoice = "onednn";

// "+onednn,-winograd": with a plus only these, with a minus all but these.
void read_tactics(const std::vector<std::string>& words, TuneOptions& tune) {
  for (const std::string& word : words) {
    if (word.size() < 2 || (word[0] != '+' && word[0] != '-'))
      throw usage_error("--tactics '{}' is not +NAME or -NAME", word);
    const std::string name = word.substr(1);
    if (!cpu::tactic_names().contains(name) && (word[0] == '-' || name != kOwnChoice))
      throw usage_error("--tactics '{}' names no tactic that can be {}", word,
                        word[0] == '+' ? "used alone" : "left out")
          .advise(fmt::format("there are: {}", fmt::join(cpu::tactic_names(), ", ")));
    (word[0] == '+' ? tune.only : tune.without).insert(name);
  }
}

// "--cpu, --cuda, --simulated"
std::string built_engines() {
  std::string names = "--cpu";
  for (const AcceleratorKind* kind : accelerator_kinds()) names += fmt::format(", --{}", kind->name);
  return names;
}

// The options after --cpu, which may be written, too, or after --simulated or --cuda.
const RunnerSpec& spec_of_engine() {
  const RunnerSpec& spec = runner_specs().back();
  if (!is_built_engine(spec))
    throw usage_error("--{} does not apply to what is built", spec.kind)
        .advise("build for " + built_engines());
  for (const RunnerSpec& other : runner_specs()) {
    if (&other != &spec && !other.options.empty())
      throw usage_error("--{} stands before --{}, the engine that is built", other.options.begin()->first,
                        spec.kind)
          .advise("write it behind: runner options belong to the runner before them");
  }
  return spec;
}

}  // namespace

void BuildArguments::declare(CLI::App& app) {
  const auto shapes = [&](const char* name, std::vector<std::string>& to, const char* what) {
    app.add_option(name, to, what)->type_name("INPUT:DIMS,…");
  };
  shapes("--min-shapes", min_shapes, "smallest sizes of a profile (default: as --opt-shapes); repeatable");
  shapes("--opt-shapes", opt_shapes, "sizes that a profile is tuned at, e.g. 'x:1x3x224x224'; repeatable");
  shapes("--max-shapes", max_shapes, "largest sizes of a profile (default: as --opt-shapes); repeatable");
  app.add_option("--disable-pass", disabled_passes, "a pass that must not run; repeatable")
      ->type_name("NAME")
      ->check(CLI::IsMember(pass_names()));
  app.add_option("--forbid", forbidden, "rewrites and kernels that must not be used; repeatable")
      ->check(CLI::IsMember({"reassociating", "narrowing", "approximate"}));
  app.add_option(
         "--opt-level", level,
         "0: nothing is tried; 1: the timing cache decides; 2 and 3: layouts and tactics are tried; 4: "
         "every kernel is verified; 5: and timed at length")
      ->check(CLI::Range(0, 5))
      ->capture_default_str();
  app.add_option("--tactics", tactics,
                 fmt::format("tactics to use alone (+NAME; +{}: none) or not to use (-NAME): {}", kOwnChoice,
                             fmt::join(cpu::tactic_names(), ", ")))
      ->delimiter(',')
      ->type_name("±NAME,…");
  app.add_option("--workspace", workspace,
                 "working memory that a plan may take: MiB, or with B, KiB, MiB or GiB (default: no limit)")
      ->type_name("MiB");
  app.add_option("--timing-cache", timing_cache, "what tactics took, to be read and added to")
      ->type_name("FILE");
}

BuildOptions BuildArguments::options(const Model& model) const {
  BuildOptions options = engine_options(spec_of_engine());
  options.passes.disabled.insert(disabled_passes.begin(), disabled_passes.end());
  for (const auto each :
       {NumericalClass::kReassociating, NumericalClass::kNarrowing, NumericalClass::kApproximate}) {
    if (std::find(forbidden.begin(), forbidden.end(), numerical_class_name(each)) != forbidden.end())
      options.passes.forbidden.insert(each);
  }
  options.profiles = profiles_of(model, *this);
  if (!workspace.empty()) options.workspace = parse_workspace(workspace);
  options.tune.level = level;
  options.tune.approximate = !options.passes.forbidden.contains(NumericalClass::kApproximate);
  read_tactics(tactics, options.tune);
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  if (!timing_cache.empty()) options.timing_cache->load(timing_cache);
  return options;
}

void BuildArguments::require_none_for_refit() const {
  auto given = effective();
  for (const char* kept : {"opt-level", "FAULT INJECTED", kFaultOption, kIsaOption}) given.erase(kept);
  if (!given.empty())
    throw usage_error("--refit takes the options of the engine: --{} cannot be given", given.begin()->first)
        .advise("build the model anew, without --refit, for other options");
}

void BuildArguments::save_timings(const BuildOptions& options) const {
  if (!timing_cache.empty()) options.timing_cache->save(timing_cache);
}

std::map<std::string, std::string> BuildArguments::effective() const {
  std::map<std::string, std::string> result;
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) result[name] = fmt::format("{}", fmt::join(values, " "));
  };
  add("min-shapes", min_shapes);
  add("opt-shapes", opt_shapes);
  add("max-shapes", max_shapes);
  add("disable-pass", disabled_passes);
  add("forbid", forbidden);
  add("tactics", tactics);
  const RunnerSpec& spec = runner_specs().back();
  for (const auto& [name, value] : spec.options) result[name] = value.empty() ? "yes" : value;
  if (const AcceleratorKind* kind = find_accelerator_kind(spec.kind))
    result[kind->name] = fmt::format("{} {}", kind->number, spec.argument.empty() ? "0" : spec.argument);
  if (const std::string faults = injected_faults(); !faults.empty()) result["FAULT INJECTED"] = faults;
  if (!workspace.empty()) result["workspace"] = workspace;
  result["opt-level"] = std::to_string(level);
  return result;
}

}  // namespace vernier
