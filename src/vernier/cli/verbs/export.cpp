#include "vernier/onnx/export.h"

#include <cstdlib>

#include "vernier/base/file.h"
#include "vernier/cli/checks.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/engine_help.h"
#include "vernier/cli/options/engine_options.h"
#include "vernier/cli/target_findings.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verify_export.h"
#include "vernier/compile/make_content.h"
#include "vernier/engine/named_options.h"
#include "vernier/ir/clone.h"
#include "vernier/passes/opset/raise_opset.h"
#include "vernier/precision/rules.h"
#include "vernier/precision/typed_model.h"
#include "vernier/report/check_report.h"
#include "vernier/report/precision/export_report.h"

namespace vernier {

namespace {

struct Options {
  std::string model, output, save_plan, target;
  DataOptions data;
  bool no_verify = false;
};

// Before, QuantizeLinear had no scales of channels, and much else was said in ways that parsers forget.
constexpr int64_t kTensorrtOpset = 13;

PrecisionOptions precision_of(const RunnerSpec& spec, const std::string& target) {
  for (const auto& [name, value] : spec.options) {
    const NamedOption* option = find_named_option(name);
    if (option == nullptr || !option->says_types) throw usage_error("--{} does not apply to export", name);
  }
  BuildOptions named;
  set_named_options(spec.options, named);
  PrecisionOptions options = resolved_precision(named.precision);
  options.symmetric = target == kTensorrtTarget;
  options.codes_between = target == kOnnxruntimeTarget;
  return options;
}

ExportReport describe(const Model& before, const TypedModel& typed, const Options& options) {
  ExportReport report;
  report.model = options.model;
  report.output = options.output;
  report.opset = typed.opset;
  report.opset_before = before.opset("");
  report.casts = typed.casts;
  report.quantized = typed.quantized;
  report.notes = typed.plan.notes;
  if (typed.expanded > 0)
    report.notes.push_back(fmt::format(
        "{} operators of ONNX Runtime, on codes for most, are expressed by those of floats", typed.expanded));
  if (const SymmetricCodes& codes = typed.symmetric; codes.all() > 0)
    report.notes.push_back(fmt::format(
        "what the model quantized became int8 around zero: {} values ({} of them clipped before, as their "
        "codes "
        "did), {} weights; {} constants, such as biases of INT32, became floats, and {} codes of inputs and "
        "outputs are computed",
        codes.values, codes.clips, codes.weights, codes.constants, codes.borders));
  if (typed.defaults > 0)
    report.notes.push_back(
        fmt::format("{} weights were listed as inputs, and are constants alone now", typed.defaults));
  if (typed.between.values > 0)
    report.notes.push_back(
        fmt::format("{} values are codes for all that read them, as ONNX Runtime's kernels want them",
                    typed.between.values));
  if (!typed.between.unknown.empty())
    report.notes.push_back(
        fmt::format("{} values between int8 nodes have no range, '{}' first, so ONNX Runtime computes "
                    "the nodes around them in floats: calibrate with --all-tensors",
                    typed.between.unknown.size(), *typed.between.unknown.begin()));
  report.notes.insert(report.notes.end(), typed.plan.notes.begin(), typed.plan.notes.end());
  const auto& layers = typed.plan.layers;
  const auto by_tf32 =
      std::count_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.second.tf32; });
  if (by_tf32 > 0)
    report.notes.push_back(fmt::format(
        "{} nodes are TF32 in the plan; ONNX has no word for it, so they are f32 in the file", by_tf32));
  if (!typed.plan.tf32)
    report.notes.push_back(
        fmt::format("TF32 is off{}; ONNX has no word for it, so tell the engine as well (TensorRT: --noTF32)",
                    environment_forbids_tf32() ? fmt::format(" ({}=0)", kTf32Variable) : ""));
  return report;
}

// The nodes that stay float because TensorRT would refuse them.
void note_kept(const PrecisionPlan& plan, const Graph& graph, ExportReport& report) {
  size_t count = 0;
  std::string first;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      const LayerPrecision* layer = plan.find(node->name);
      if (layer == nullptr || layer->why != kNoBrainTransposed) continue;
      if (count++ == 0) first = node->name;
    }
  });
  if (count > 0)
    report.notes.push_back(
        fmt::format("{} nodes stay f32, '{}' first: {}", count, first, kNoBrainTransposed));
}

void verify(const Options& options, const CommonOptions& common, const Model& model, bool rewritten,
            ExportReport& report) {
  if (options.no_verify) {
    report.notes.push_back("not verified: --no-verify");
    return;
  }
  if (!report.findings.empty() && options.target == kOnnxruntimeTarget) return;  // it does not load
  VerifyOptions how{options.target, options.data, common.seed, common.threads, rewritten};
  Verification found = verify_export(options.output, options.model, model, how);
  report.notes.insert(report.notes.end(), found.notes.begin(), found.notes.end());
  report.findings.insert(report.findings.end(), found.findings.begin(), found.findings.end());
}

int export_typed(const Options& options, const CommonOptions& common) {
  const PrecisionOptions precision = precision_of(runner_specs().front(), options.target);
  const auto imported = open_model(options.model);
  ExportReport report;
  Model written;
  bool rewritten = false;
  if (precision.changes_types() || !options.save_plan.empty() || !options.target.empty()) {
    const int64_t least_opset = options.target == kTensorrtTarget ? kTensorrtOpset : 0;
    TypedModel typed = typed_model(imported.model, precision, least_opset);
    report = describe(imported.model, typed, options);
    report.types = precision.changes_types() ? summary(typed.plan) : "";
    note_kept(typed.plan, *typed.model.graph, report);
    if (!options.save_plan.empty()) write_file(options.save_plan, plan_json(typed.plan));
    rewritten = typed.symmetric.all() + typed.expanded > 0;
    written = std::move(typed.model);
  } else {
    report.model = options.model, report.output = options.output;
    report.opset_before = imported.model.opset("");
    written = clone(imported.model);
    raise_opset(written, 0);
    report.opset = written.opset("");
  }
  export_model(written, options.output);
  report.findings = target_findings(options.target, options.output, written);
  verify(options, common, imported.model, rewritten, report);
  say(common, export_text(report));
  if (!common.json.empty()) write_file(common.json, export_json(report));
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const Finding& finding) { return finding.severity != Severity::kNote; })
             ? 1
             : 0;
}

}  // namespace

std::function<int()> declare_export(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("-o,--output", options->output, "the ONNX file to write")
      ->required()
      ->type_name("FILE")
      ->check(must_not_be_empty);
  app.add_option("--save-plan", options->save_plan, "writes the precision plan that was applied")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  app.add_option("--for", options->target,
                 "makes the plan for this runtime, and checks the written file by its rules")
      ->check(CLI::IsMember({kTensorrtTarget, kOnnxruntimeTarget}));
  options->data.declare(app);
  app.add_flag(
      "--no-verify", options->no_verify,
      "does not run the file: without it ONNX Runtime, where it is installed, has to compute what the "
      "file says");
  app.footer("Types of the written graph; without any, the model as it is:\n" + named_options_help(true));
  return [options, &common] { return export_typed(*options, common); };
}

}  // namespace vernier
