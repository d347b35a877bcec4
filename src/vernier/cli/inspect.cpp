#include "vernier/backends/process/saved_run.h"
#include "vernier/base/file.h"
#include "vernier/cli/verb.h"
#include "vernier/onnx/import.h"
#include "vernier/report/inspect_report.h"

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
  app.add_option(
         "FILE", options->file,
         "an ONNX model, a file of tensors (.npy .npz .safetensors .pb .json), or a recorded run (.run)")
      ->required();
  app.add_option("--show", options->show, "layers, weights, attrs; separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"layers", "weights", "attrs"}));
  app.add_option("--diff", options->diff, "another engine or plan to compare with")->type_name("FILE");
  return [options, &common] {
    if (!options->diff.empty())
      throw unsupported("--diff compares engines and plans, which this version does not build");
    const std::string& file = options->file;
    if (std::filesystem::path(file).extension() == ".run") return show(common, file, summarize_run(file));
    if (is_data_file(file)) return show(common, file, summarize_data(file));
    const auto asked = [&](const char* what) {
      return std::find(options->show.begin(), options->show.end(), what) != options->show.end();
    };
    return show(common, file, summarize(import_model(file)),
                InspectOptions{.layers = asked("layers") || asked("attrs"),
                               .weights = asked("weights"),
                               .attributes = asked("attrs")});
  };
}

}  // namespace vernier
