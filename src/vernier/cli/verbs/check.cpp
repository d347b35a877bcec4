#include "vernier/check/check.h"

#include "vernier/backends/reference/interpreter.h"
#include "vernier/base/file.h"
#include "vernier/check/data_check.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/options/process_options.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/target_findings.h"
#include "vernier/cli/unloaded_runners.h"
#include "vernier/cli/verb.h"
#include "vernier/data/data_set.h"
#include "vernier/diagnose/experiments/metamorphic.h"
#include "vernier/report/check_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, assume, target, preprocess = kDefaultPreprocess;
  std::vector<std::string> data, shapes;
};

// Runs the reference over the data and keeps of each value what hazards show in.
std::vector<Finding> check_with_data(const Model& model, const Options& options,
                                     const CheckOptions& check_options, const CommonOptions& common) {
  const auto shapes = parse_shapes(options.shapes);
  const auto source = open_data(model, options.data, shapes.empty() ? InputShapes{} : shapes[0],
                                parse_preprocess(options.preprocess));
  DataCheck data_check(model, check_options);
  Progress progress(common, source->size());
  InterpreterOptions interpreter;
  interpreter.observe = [&](const Value& value, const Datum& datum) { data_check.observe(value, datum); };
  for (size_t index = 0; const auto sample = source->next(); ++index) {
    progress.stage(fmt::format("sample {}: reference", index));
    for (const auto& [name, datum] : sample->inputs) data_check.observe(find_input(model, name), datum);
    run_reference(model, sample->inputs, interpreter);
  }
  return data_check.findings();
}

bool asks_tensorrt(const RunnerSpec& spec, const Options& options) {
  return spec.kind == kTensorrtTarget && options.target == kTensorrtTarget;
}

// Asks TensorRT about the file, at the sizes of the data, or of inputs that are drawn.
std::vector<Finding> ask_tensorrt_of(const RunnerSpec& spec, const std::string& path, const Model& model,
                                     const DataOptions& data, uint64_t seed) {
  allow_options(spec, {"runner-option", "timeout"});
  TensorRtQuestion question;
  question.python = spec.argument;
  const auto process = process_options(spec, 0);
  question.options = process->options;
  question.timeout = process->load_timeout;
  if (const auto sample = data.open(model, seed)->next()) question.inputs = sample->inputs;
  return findings_of_tensorrt(path, question);
}

// Checks what the runners of the command line show on the data, or on inputs that are drawn.
std::vector<Finding> check_runners(const std::string& path, const Model& model, const Options& options,
                                   const CommonOptions& common, UnloadedRunners& unloaded) {
  DataOptions data;
  data.files = options.data;
  data.shapes = options.shapes;
  data.preprocess = options.preprocess;
  std::vector<Finding> findings;
  for (const RunnerSpec& spec : runner_specs()) {
    if (asks_tensorrt(spec, options)) {
      auto told = ask_tensorrt_of(spec, path, model, data, common.seed);
      findings.insert(findings.end(), std::make_move_iterator(told.begin()),
                      std::make_move_iterator(told.end()));
      continue;
    }
    const auto runner = unloaded.make(spec, {path, &model}, common.threads);
    if (runner == nullptr) {
      const UnloadedRunner& refused = unloaded.all().back();
      findings.push_back({.rule = "E1-not-loaded",
                          .severity = Severity::kError,
                          .effect = 1,
                          .node = refused.error.node(),
                          .message = fmt::format("{} {}", refused.name, refused.text()),
                          .remedy = "run it elsewhere, or write what it lacks by other operators"});
      continue;
    }
    const auto source = data.open(model, common.seed);
    const auto sample = source->next();
    if (!sample) throw bad_input("the data hold no sample");
    for (Finding& finding : metamorphic_findings(model, *runner, sample->inputs)) {
      finding.message = runner->name() + ": " + finding.message;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

int check_model(const Options& options, const CommonOptions& common) {
  const bool runs = !options.data.empty() || !runner_specs().empty() || !options.target.empty();
  const auto imported = open_model(options.model, runs ? UnknownOperators::kRefuse : UnknownOperators::kKeep);
  CheckOptions check_options;
  if (!options.assume.empty()) check_options.assume = parse_element_type(options.assume);
  auto findings = check(imported.model, imported.notes, check_options);
  if (!options.target.empty()) {
    auto shown = target_findings(options.target, options.model, imported.model);
    findings.insert(findings.end(), std::make_move_iterator(shown.begin()),
                    std::make_move_iterator(shown.end()));
    rank(findings);
  }
  if (!options.data.empty()) {
    try {
      auto shown = check_with_data(imported.model, options, check_options, common);
      findings.insert(findings.end(), std::make_move_iterator(shown.begin()),
                      std::make_move_iterator(shown.end()));
    } catch (Error& error) {
      if (!error.node().empty()) error.in_file(options.model);
      throw;
    }
    rank(findings);
  }
  UnloadedRunners unloaded;
  if (!runner_specs().empty()) {
    auto shown = check_runners(options.model, imported.model, options, common, unloaded);
    findings.insert(findings.end(), std::make_move_iterator(shown.begin()),
                    std::make_move_iterator(shown.end()));
    rank(findings);
  }
  say(common, check_text(options.model, findings));
  if (!common.json.empty()) write_file(common.json, check_json(options.model, findings));
  // Notes are no reason to fail.
  const auto failing = std::count_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity != Severity::kNote;
  });
  if (failing == 0) return 0;
  return static_cast<size_t>(failing) == unloaded.all().size() ? unloaded.status() : 1;
}

}  // namespace

std::function<int()> declare_check(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("--assume", options->assume, "judge f32 tensors as if they were lowered to this type")
      ->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--for", options->target, "add what this runtime would refuse or change")
      ->check(CLI::IsMember({kTensorrtTarget, kOnnxruntimeTarget}));
  app.add_option("--data", options->data,
                 "add the hazards that the reference shows on these data, as `run` takes them")
      ->type_name("D");
  app.add_option("--shapes", options->shapes, "sizes of raw inputs and images, e.g. 'x:1x3x640x480'")
      ->type_name("INPUT:DIMS");
  app.add_option("--preprocess", options->preprocess, "what is done to images; see below")->type_name("P");
  app.footer(
      "A runner is judged by what holds for every engine, without a reference: ranges of Clip, Softmax and "
      "the like,\n"
      "equal answers for equal inputs, and for equal samples of a batch. With --for tensorrt, --tensorrt is "
      "not "
      "run:\n"
      "the parser and the builder of the package tensorrt or tensorrt_rtx of that PYTHON say whether they "
      "take "
      "the file.\n" +
      runner_help() + "\n" + preprocess_help());
  return [options, &common] { return check_model(*options, common); };
}

}  // namespace vernier
