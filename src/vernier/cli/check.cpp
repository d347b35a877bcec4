#include "vernier/check/check.h"

#include "vernier/base/file.h"
#include "vernier/cli/verb.h"
#include "vernier/onnx/import.h"
#include "vernier/report/check_report.h"

namespace vernier {

std::function<int()> declare_check(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::string model, assume;
    std::vector<std::string> data;
  };
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("--assume", options->assume, "judge f32 tensors as if they were lowered to this type")
      ->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--data", options->data, "judge with the ranges that data produce")->type_name("D");
  return [options, &common] {
    if (!options->data.empty())
      throw unsupported("check --data is not part of this version")
          .advise("without --data the static hazards are found");
    const auto imported = import_model(options->model);
    CheckOptions check_options;
    if (!options->assume.empty()) check_options.assume = parse_element_type(options->assume);
    const auto findings = check(imported.model, imported.notes, check_options);
    say(common, check_text(options->model, findings));
    if (!common.json.empty()) write_file(common.json, check_json(options->model, findings));
    // Notes are no reason to fail.
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.severity != Severity::kNote; })
               ? 1
               : 0;
  };
}

}  // namespace vernier
