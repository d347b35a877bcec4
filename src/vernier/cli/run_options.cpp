#include "vernier/cli/run_options.h"

#include <fmt/ranges.h>

#include "vernier/cli/runner_options.h"

namespace vernier {

void RunOptions::declare(CLI::App& app) {
  app.add_option("MODEL", models,
                 "ONNX models; with several, every runner runs each. None: only --load-run runners");
  app.add_option("--against", against, "the runner that the others are compared with (default: the first)")
      ->type_name("NAME");
  app.add_flag("--layers", layers, "compare every tensor that the runners can show, not only outputs");
  app.add_option(
         "--data", data,
         "test_data_set_* folder, .npz, .safetensors, Polygraphy .json, NAME=FILE.npy|.pb|.bin, an image "
         "or a folder of images, NAME=them (default: random inputs that suit the graph)")
      ->type_name("D");
  app.add_option("--preprocess", preprocess, "what is done to images; see below")->type_name("P");
  app.add_option("--samples", samples, "random samples of each set of shapes")->check(CLI::PositiveNumber);
  app.add_option("--shapes", shapes,
                 "sizes of inputs, e.g. 'x:1x3x640x480'; naming an input again begins another set")
      ->type_name("INPUT:DIMS");
  app.add_option("--val-range", val_range, "range of random values, e.g. 'x:[-1,1]'")
      ->type_name("[INPUT:][LOW,HIGH]");
  app.add_option("--atol", atol,
                 "absolute tolerance, for all outputs of floats or complex numbers, or for one: 1e-3, "
                 "out:1e-3; integers "
                 "obey it by name only")
      ->type_name("[OUT:]A");
  app.add_option("--rtol", rtol, "relative tolerance, |a-b| <= atol + rtol*|ref|; given as --atol is")
      ->type_name("[OUT:]R");
  app.add_option("--constant-output", constant_values,
                 "a value that is constant by nature, which is no reason for mistrust")
      ->type_name("VALUE");
  app.add_option("--labels", labels,
                 "class labels of every row (.npy, integers): the top-1 accuracy of each runner is reported")
      ->type_name("FILE");
  app.add_option("--labels-output", labels_output,
                 "the output that the labels are about (default: the first)")
      ->type_name("VALUE");
}

std::map<std::string, std::string> RunOptions::effective() const {
  std::map<std::string, std::string> result;
  const auto add = [&](const char* name, const std::vector<std::string>& list, const char* otherwise) {
    result[name] = list.empty() ? otherwise : fmt::format("{}", fmt::join(list, " "));
  };
  add("models", models, "none");
  add("data", data, "random");
  if (!data.empty()) result["preprocess"] = preprocess;
  add("shapes", shapes, "chosen");
  add("val-range", val_range, "chosen");
  add("atol", atol, "by type");
  add("rtol", rtol, "by type");
  result["against"] = against.empty() ? "the first runner" : against;
  result["layers"] = layers ? "yes" : "no";
  if (data.empty()) result["samples"] = std::to_string(samples);
  std::string runners;
  for (const RunnerSpec& spec : runner_specs()) {
    runners += fmt::format("{}--{}{}", runners.empty() ? "" : " ", spec.kind,
                           spec.argument.empty() ? "" : "=" + spec.argument);
    for (const auto& [name, value] : spec.options)
      runners += fmt::format(" --{}{}", name, value.empty() ? "" : "=" + value);
  }
  result["runners"] = runners;
  if (const std::string faults = injected_faults(); !faults.empty()) result["FAULT INJECTED"] = faults;
  return result;
}

}  // namespace vernier
