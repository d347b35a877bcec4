#include "vernier/cli/options/run_options.h"

#include <fmt/ranges.h>

#include "vernier/cli/options/runner_options.h"

namespace vernier {

void RunVerbOptions::declare(CLI::App& app) {
  app.add_option("MODEL", models,
                 "ONNX models; with several, every runner runs each. None: only --load-run runners");
  app.add_option("--against", against, "the runner that the others are compared with (default: the first)")
      ->type_name("NAME");
  app.add_flag("--layers", layers, "compare every tensor that the runners can show, not only outputs");
  comparison.declare(app);
  app.add_option("--labels", labels,
                 "class labels of every row (.npy, integers): the top-1 accuracy of each runner is reported")
      ->type_name("FILE");
  app.add_option("--labels-output", labels_output,
                 "the output that the labels are about (default: the first)")
      ->type_name("VALUE");
  page.declare_html(app);
  page.declare_node_data(app, "the relative L2 of every value that was compared");
}

std::map<std::string, std::string> RunVerbOptions::effective() const {
  std::map<std::string, std::string> result;
  const auto add = [&](const char* name, const std::vector<std::string>& list, const char* otherwise) {
    result[name] = list.empty() ? otherwise : fmt::format("{}", fmt::join(list, " "));
  };
  add("models", models, "none");
  comparison.data.add_effective(result);
  add("atol", comparison.atol, "by type");
  add("rtol", comparison.rtol, "by type");
  result["against"] = against.empty() ? "the first runner" : against;
  result["layers"] = layers ? "yes" : "no";
  result["runners"] = runners_text();
  if (const std::string faults = injected_faults(); !faults.empty()) result["FAULT INJECTED"] = faults;
  return result;
}

}  // namespace vernier
