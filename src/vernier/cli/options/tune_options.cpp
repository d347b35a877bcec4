#include "vernier/cli/options/tune_options.h"

#include <fmt/ranges.h>

#include "vernier/cli/checks.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/evaluate/task_metric.h"
#include "vernier/precision/options.h"

namespace vernier {

namespace {

constexpr size_t kRandomSamples = 16;

}  // namespace

void TuneVerbOptions::declare(CLI::App& app) {
  app.add_option("MODEL", model, "an ONNX model")->required();
  app.add_option("-o,--output", output,
                 "the plan to write; those of the front are written beside it: plan.1.json, plan.2.json, …")
      ->type_name("PLAN")
      ->required()
      ->check(must_not_be_empty);
  app.add_option("--tolerance", tolerance,
                 "target: relative L2 of each output against the model as declared, for every sample")
      ->type_name("T")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--atol", atol,
                 "target, with --rtol: |a-b| <= atol + rtol*|ref| for every element, as `run` takes it")
      ->type_name("[OUT:]A");
  app.add_option("--rtol", rtol, "see --atol")->type_name("[OUT:]R");
  app.add_option("--metric", metric, "target: " + metric_names() + ", or a file of Python (docs/evaluate.md)")
      ->type_name("M");
  app.add_option("--labels", labels, "labels of every row of the data, in their order (.npy)")
      ->type_name("FILE");
  app.add_option("--labels-output", labels_output, "the output that the metric is about (default: the first)")
      ->type_name("VALUE");
  app.add_option("--max-loss", max_loss,
                 "points that --metric may lose against the model as declared; 100 is perfect")
      ->type_name("POINTS")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--types", types,
                 "types to choose from, beside the model's own (default: bf16, fp16, and int8 "
                 "with --calibration)")
      ->delimiter(',')
      ->type_name("TYPE,…")
      ->check(CLI::IsMember({"bf16", "fp16", "int8"}));
  data.samples = kRandomSamples;
  data.declare(app);
  app.add_option("--held-out", held_out, "share of the samples that confirm what was chosen on the others")
      ->check(CLI::Range(0.05, 0.95));
  app.add_option("--budget", budget, "seconds; the best so far is raced when little is left")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  app.add_option("--duration", duration, "seconds that the best plans are timed in turn, all together")
      ->check(CLI::PositiveNumber);
  app.add_option("--state", state,
                 "what was probed, to be read and added to: a second run goes on where one ended")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  build.declare(app);
  page.declare_html(app);
}

TuneTarget TuneVerbOptions::target() const {
  const bool by_elements = !atol.empty() || !rtol.empty();
  const int given = int{tolerance.has_value()} + int{by_elements} + int{!metric.empty()};
  if (given != 1)
    throw usage_error("{} target is given", given == 0 ? "no" : "more than one")
        .advise("give one of --tolerance T, --atol with --rtol, and --metric M");
  if (metric.empty() && !labels.empty()) throw usage_error("--labels are for a --metric");
  TuneTarget target;
  if (tolerance) {
    target.tolerance = *tolerance;
  } else if (by_elements) {
    target.kind = TuneTarget::Kind::kElements;
    for (const auto& text : atol) target.elements.atol.parse(text);
    for (const auto& text : rtol) target.elements.rtol.parse(text);
  } else {
    target.kind = TuneTarget::Kind::kMetric;
    target.metric = metric;
    target.max_loss = max_loss;
  }
  return target;
}

std::vector<ElementType> TuneVerbOptions::element_types(bool ranges) const {
  if (types.empty()) {
    std::vector<ElementType> all{ElementType::kBFloat16, ElementType::kFloat16};
    if (ranges) all.push_back(ElementType::kInt8);
    return all;
  }
  std::vector<ElementType> chosen;
  for (const std::string& text : types) {
    const ElementType type = parse_precision(text);
    if (type == ElementType::kInt8 && !ranges)
      throw usage_error("int8 needs the ranges of values").advise("give them with --calibration scales.json");
    if (std::find(chosen.begin(), chosen.end(), type) == chosen.end()) chosen.push_back(type);
  }
  return chosen;
}

std::string TuneVerbOptions::runner_option(const std::string& name) const {
  const auto& options = runner_specs().back().options;
  const auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

std::map<std::string, std::string> TuneVerbOptions::effective() const {
  auto result = build.effective();
  data.add_effective(result);
  result["target"] = target().text();
  result["types"] = types.empty() ? "all" : fmt::format("{}", fmt::join(types, " "));
  result["held-out"] = fmt::format("{}", held_out);
  result["duration"] = fmt::format("{} s", duration);
  result["budget"] = fmt::format("{} s", budget);
  if (!labels.empty()) result["labels"] = labels;
  if (!state.empty()) result["state"] = state;
  return result;
}

}  // namespace vernier
