#include "vernier/onnx/export.h"

#include "vernier/cli/checks.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/verb.h"

namespace vernier {

std::function<int()> declare_export(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::string model, output, plan;
  };
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("-o,--output", options->output, "the ONNX file to write")
      ->required()
      ->type_name("FILE")
      ->check(must_not_be_empty);
  app.add_option("--plan", options->plan, "a precision plan to apply")->type_name("FILE");
  return [options, &common] {
    if (!options->plan.empty()) throw unsupported("--plan is not part of this version");
    const auto imported = open_model(options->model);
    export_model(imported.model, options->output);
    say(common, fmt::format("wrote {}\n", options->output));
    return 0;
  };
}

}  // namespace vernier
