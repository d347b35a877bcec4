#include "vernier/backends/process/saved_run.h"
#include "vernier/base/file.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/report_parts.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/report/engine_report.h"
#include "vernier/report/inspect_report.h"
#include "vernier/report/precision/plan_report.h"

namespace vernier {

namespace {

// Recorded runs are safetensors files with an extension of the user's choice.
DataSummary summarize_run(const std::string& path) {
  LoadedRun run(path);
  DataSummary summary;
  summary.format = "recorded run";
  summary.description = run.description();
  for (size_t i = 0; i < run.sample_count(); ++i) summary.samples.push_back(summarize_trace(run.trace(i)));
  return summary;
}

EngineSummary summarize_engine(const std::string& path) {
  const Manifest manifest = read_manifest(path);
  EngineSummary summary;
  summary.file = path;
  summary.model = manifest.model_name + " " + manifest.model_hash;
  summary.fingerprint = {{"vernier", manifest.fingerprint.vernier},
                         {"processor", manifest.fingerprint.cpu},
                         {"libraries", manifest.fingerprint.libraries}};
  for (const RecordedDevice& device : manifest.devices)
    summary.fingerprint["device " + device.name] = device.text();
  summary.options = manifest.options;
  for (const ShapeProfile& profile : manifest.profiles) summary.profiles.push_back(profile.text());
  for (const PassRecord& pass : manifest.passes) {
    if (pass.rewrites > 0)
      summary.passes.push_back({pass.name, std::string(numerical_class_name(pass.numerics)), pass.rewrites});
  }
  for (const Manifest::Plan& plan : manifest.plans) {
    summary.plans.push_back(
        {fmt::format("{}", fmt::join(plan.inputs, ", ")), report_steps(plan.steps), plan.arena_bytes});
  }
  std::vector<TunedSizes> tuned;
  for (const Manifest::Plan& plan : manifest.plans) tuned.push_back(plan.sizes());
  for (const Manifest::Tuned& sizes : manifest.tuned) tuned.push_back(sizes.sizes());
  tell_ranges(summary, tuned);
  summary.constants = manifest.constants.size();
  for (const auto& constant : manifest.constants) summary.packed += constant.forms.size();
  summary.file_bytes = std::filesystem::file_size(path);
  summary.stripped = manifest.stripped;
  if (manifest.certificate) summary.accuracy = verdict_name(manifest.certificate->verdict);
  return summary;
}

// Two engines, or two plans.
int show_difference(const CommonOptions& common, const std::string& file, const std::string& other) {
  for (const std::string& each : {file, other}) MappedFile::open(each);  // what cannot be opened is no file
  if (is_plan_file(file) && is_plan_file(other)) {
    const NamedPlan a{file, read_plan(file)}, b{other, read_plan(other)};
    say(common, plan_diff_text(a, b));
    if (!common.json.empty()) write_file(common.json, plan_diff_json(a, b));
    return 0;
  }
  for (const std::string& each : {file, other}) {
    if (!is_engine_file(each)) throw bad_input("--diff compares two engine files or two plans").in_file(each);
  }
  say(common, engine_diff_text(summarize_engine(file), summarize_engine(other)));
  return 0;
}

int show_plan(const CommonOptions& common, const std::string& file) {
  const PrecisionPlan plan = read_plan(file);
  say(common, plan_text({file, plan}));
  if (!common.json.empty()) write_file(common.json, plan_json(plan));
  return 0;
}

template <class Summary, class... Options>
int show(const CommonOptions& common, const std::string& file, const Summary& summary,
         const Options&... options) {
  say(common, inspect_text(file, summary, options...));
  if (!common.json.empty()) write_file(common.json, inspect_json(file, summary));
  return 0;
}

}  // namespace

std::function<int()> declare_inspect(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::string file, diff;
    std::vector<std::string> show;
  };
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file,
                 "an ONNX model, an engine, a precision plan, a file of tensors (.npy .npz .safetensors .pb "
                 ".json), or a recorded run (.run)")
      ->required();
  app.add_option("--show", options->show, "layers, weights, attrs; separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"layers", "weights", "attrs"}));
  app.add_option("--diff", options->diff, "another engine or plan to compare with")->type_name("FILE");
  return [options, &common] {
    const std::string& file = options->file;
    if (!options->diff.empty()) return show_difference(common, file, options->diff);
    if (is_plan_file(file)) return show_plan(common, file);
    if (is_engine_file(file)) {
      const bool layers =
          std::find(options->show.begin(), options->show.end(), "layers") != options->show.end();
      say(common, engine_text(summarize_engine(file), layers));
      if (!common.json.empty()) write_file(common.json, read_manifest(file).json());
      return 0;
    }
    if (std::filesystem::path(file).extension() == ".run") return show(common, file, summarize_run(file));
    if (is_data_file(file)) return show(common, file, summarize_data(file));
    const auto asked = [&](const char* what) {
      return std::find(options->show.begin(), options->show.end(), what) != options->show.end();
    };
    return show(common, file, summarize(open_model(file, UnknownOperators::kKeep)),
                InspectOptions{.layers = asked("layers") || asked("attrs"),
                               .weights = asked("weights"),
                               .attributes = asked("attrs")});
  };
}

}  // namespace vernier
