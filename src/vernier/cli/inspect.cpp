#include "vernier/base/file.h"
#include "vernier/cli/verb.h"
#include "vernier/onnx/import.h"
#include "vernier/report/inspect_report.h"

namespace vernier {

std::function<int()> declare_inspect(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::string file, diff;
    std::vector<std::string> show;
  };
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "an ONNX model")->required();
  app.add_option("--show", options->show, "layers, weights, attrs; separated by commas")->delimiter(',')->check(CLI::IsMember({"layers", "weights", "attrs"}));
  app.add_option("--diff", options->diff, "another engine or plan to compare with")->type_name("FILE");
  return [options, &common] {
    if (!options->diff.empty()) throw unsupported("--diff compares engines and plans, which this version does not build");
    const auto summary = summarize(import_model(options->file));
    const auto shown = [&](const char* what) { return std::find(options->show.begin(), options->show.end(), what) != options->show.end(); };
    say(common, inspect_text(options->file, summary, {.layers = shown("layers") || shown("attrs"), .weights = shown("weights"), .attributes = shown("attrs")}));
    if (!common.json.empty()) write_file(common.json, inspect_json(options->file, summary));
    return 0;
  };
}

}  // namespace vernier
