#include "vernier/cli/options/evaluate_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/cli/checks.h"
#include "vernier/cli/options/runner_options.h"

namespace vernier {

void EvaluationFiles::declare(CLI::App& app) {
  app.add_option("--scores", scores, "what each runner scored for each row (.jsonl, or .npz)")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  page.declare_html(app);
}

void EvaluateVerbOptions::declare(CLI::App& app) {
  app.add_option("MODEL", models,
                 "ONNX models, or an engine file; with several models, every runner runs each")
      ->required();
  app.add_option(
         "--data", data,
         "folder of images in a folder for each class, list (.csv, .jsonl, .parquet), arrays (.npz, .npy), "
         "IDX of MNIST, or what `run --data` takes")
      ->type_name("D")
      ->required();
  app.add_option(
         "--labels", labels,
         "what is right, where it is not with the data: .npy, IDX, .csv, .jsonl, COCO's .json, or a folder "
         "of masks, of images to be made, or of XML of Pascal VOC")
      ->type_name("L");
  app.add_option("--metric", metrics, metric_names() + ", or a file of Python; repeatable")
      ->type_name("M")
      ->required();
  app.add_option("--drop,--max-drop", drops,
                 "gate: pass where the metric is less than D worse than that of the first runner with 95 % "
                 "confidence; of one of several metrics: METRIC=D")
      ->type_name("[METRIC=]D");
  app.add_option("--against", against, "the runner that the others are compared with (default: the first)")
      ->type_name("NAME");
  app.add_option("--classes", classes, "the names of the classes, one in a line (default: sorted)")
      ->type_name("FILE");
  app.add_option("--labels-output", labels_output, "the output that the metric is about (default: the first)")
      ->type_name("VALUE");
  app.add_option("--threshold", threshold, "score from which a single score means yes, and a box counts");
  app.add_option("--match-iou", match_iou, "share of their area that boxes must share to match")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--batch", batch, "rows of arrays that are run together, where the model leaves it open")
      ->check(CLI::PositiveNumber);
  app.add_option("--preprocess", preprocess, "what is done to images; see below")->type_name("P");
  app.add_option("--labels-preprocess", labels_preprocess,
                 "what is done to images that are to be made (default: as --preprocess, without resizing)")
      ->type_name("P");
  app.add_option("--shapes", shapes, "sizes of inputs, e.g. 'x:1x3x640x480'")->type_name("INPUT:DIMS");
  app.add_option("--shard", shard,
                 "run the samples of this part alone, and write a partial result to --json for `vernier "
                 "merge`: 2/7, or "
                 "slurm for the task of an array")
      ->type_name("I/N");
  files.declare(app);
}

std::vector<MetricOptions> EvaluateVerbOptions::metric_options(
    const std::vector<std::string>& outputs) const {
  std::vector<MetricOptions> options;
  for (const std::string& name : metrics) {
    if (std::count(metrics.begin(), metrics.end(), name) > 1)
      throw usage_error("--metric {} is given twice", name);
    options.push_back({name, labels_output, outputs, threshold, match_iou});
  }
  return options;
}

std::vector<EvaluationSubject::Gate> EvaluateVerbOptions::gates() const {
  std::vector<EvaluationSubject::Gate> gates;
  const auto add = [&](const std::string& metric, double drop) {
    const auto same = [&](const auto& each) { return each.metric == metric; };
    if (std::any_of(gates.begin(), gates.end(), same))
      throw usage_error("--drop of {} is given twice", metric);
    gates.push_back({metric, drop});
  };
  for (const std::string& text : drops) {
    const size_t equals = text.rfind('=');
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    char* end = nullptr;
    const double drop = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(drop > 0) || !std::isfinite(drop))
      throw usage_error("--drop '{}' is no number above 0", text)
          .advise("no finite number of samples shows a drop of 0");
    if (equals == std::string::npos) {
      for (const std::string& metric : metrics) add(metric, drop);
      continue;
    }
    const std::string metric = text.substr(0, equals);
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
      throw usage_error("--drop {}: there is no --metric {}", text, metric);
    add(metric, drop);
  }
  return gates;
}

LabelledDataOptions EvaluateVerbOptions::labelled_data(const std::vector<MetricOptions>& metrics) const {
  LabelledDataOptions options;
  options.data = data;
  options.labels = labels;
  options.classes = classes;
  options.batch = batch;
  const auto sets = parse_shapes(shapes);
  if (!sets.empty()) options.shapes = sets[0];
  options.preprocess = parse_preprocess(preprocess);
  options.target_preprocess =
      labels_preprocess.empty() ? options.preprocess : parse_preprocess(labels_preprocess);
  const auto makes_images = [](const MetricOptions& each) {
    return each.name.starts_with("psnr") || each.name.starts_with("ssim") || each.name == "rmse";
  };
  if (std::any_of(metrics.begin(), metrics.end(), makes_images))
    options.target_output = labels_output.empty() ? metrics.front().outputs.front() : labels_output;
  return options;
}

std::map<std::string, std::string> EvaluateVerbOptions::effective() const {
  std::map<std::string, std::string> result;
  result["models"] = fmt::format("{}", fmt::join(models, " "));
  result["data"] = fmt::format("{}", fmt::join(data, " "));
  result["labels"] = labels.empty() ? "with the data" : labels;
  result["metric"] = fmt::format("{}", fmt::join(metrics, " "));
  result["drop"] = drops.empty() ? "not judged" : fmt::format("{}", fmt::join(drops, " "));
  result["preprocess"] = preprocess;
  if (!labels_preprocess.empty()) result["labels-preprocess"] = labels_preprocess;
  if (!classes.empty()) result["classes"] = classes;
  if (!shapes.empty()) result["shapes"] = fmt::format("{}", fmt::join(shapes, " "));
  result["labels-output"] = labels_output.empty() ? "the first" : labels_output;
  result["against"] = against.empty() ? "the first runner" : against;
  result["threshold"] = fmt::format("{}", threshold);
  result["match-iou"] = fmt::format("{}", match_iou);
  result["batch"] = std::to_string(batch);
  result["runners"] = runners_text();
  if (const std::string faults = injected_faults(); !faults.empty()) result["FAULT INJECTED"] = faults;
  return result;
}

}  // namespace vernier
