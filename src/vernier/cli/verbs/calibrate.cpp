#include "vernier/calibrate/calibrate.h"

#include <chrono>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/base/interruption.h"
#include "vernier/calibrate/split_samples.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/options/calibrate_options.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verify_export.h"
#include "vernier/ir/hash.h"
#include "vernier/onnx/export.h"
#include "vernier/precision/typed_model.h"
#include "vernier/report/precision/calibration_report.h"

namespace vernier {

namespace {

class CalibrateVerb {
 public:
  CalibrateVerb(const CalibrateArguments& arguments, const CommonOptions& common)
      : arguments_(arguments), common_(common), imported_(open_model(arguments.model)) {}

  int run() {
    take_interruptions();
    report_.model = arguments_.model;
    report_.options = arguments_.effective(common_.seed);
    report_.environment = environment();
    report_.environment["model " + arguments_.model] = hash_to_text(imported_.hash);
    const auto start = std::chrono::steady_clock::now();
    find_ranges();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (arguments_.random)
      report_.result.warnings.insert(report_.result.warnings.begin(),
                                     "the ranges are those of random inputs, which real data need not have");
    write();
    say(common_, calibration_text(report_, common_.verbosity > 0 ? SIZE_MAX : 20));
    if (!common_.json.empty()) write_file(common_.json, calibration_json(report_));
    return disagrees_ ? 1 : 0;
  }

 private:
  std::unique_ptr<DataSource> open_data() const {
    auto data = arguments_.data.open(imported_.model, common_.seed);
    if (arguments_.rows > 0) data = std::make_unique<SplitSamples>(std::move(data), arguments_.rows);
    return data;
  }

  void find_ranges() {
    CalibrateOptions how = arguments_.calibrate_options(common_.seed);
    auto data = open_data();
    Progress progress(common_, data->size());
    how.progress = [&](size_t sample, const std::string& origin) {
      progress.stage(fmt::format("sample {}: {}", sample, origin));
    };
    report_.result = calibrate(imported_.model, *data, how);
    if (!arguments_.adapt.any()) return;
    if (!report_.result.interrupted) {
      report_.adapted = adapt_weights(
          imported_.model, report_.result, [&] { return open_data(); }, how, arguments_.adapt);
    }
    if (report_.adapted) {
      std::swap(report_.adapted->ranges.trials, report_.result.trials);
      report_.result = std::move(report_.adapted->ranges);
      if (report_.adapted->error_after > report_.adapted->error_before)
        report_.result.warnings.push_back(
            "the adapted weights make int8 worse on these samples: take the model as it was");
    } else {
      report_.result.warnings.push_back(
          "interrupted before the weights were adapted: the ranges are those of the model as it was");
    }
  }

  const Model& model() const { return report_.adapted ? report_.adapted->model : imported_.model; }

  // With the name that TensorRT gives the algorithm that is the nearest.
  CacheHeader cache_header() const {
    CacheHeader header;
    header.version = arguments_.cache_version;
    if (report_.result.range.method == RangeMethod::kMinMax) header.algorithm = "MinMaxCalibration";
    return header;
  }

  void write() {
    const std::string hash = hash_to_text(structural_hash(*model().graph));
    const std::string scales = scales_json(report_.result, hash);
    if (report_.adapted) {
      export_model(model(), arguments_.adapted);
      report_.files.push_back(arguments_.adapted);
    }
    if (!arguments_.output.empty()) write_text(arguments_.output, scales);
    if (!arguments_.cache.empty())
      write_text(arguments_.cache, tensorrt_cache(scales_of(report_.result), cache_header()));
    if (!arguments_.qdq.empty()) write_quantized(scales);
  }

  void write_text(const std::string& path, const std::string& text) {
    write_file(path, text);
    report_.files.push_back(path);
  }

  void write_quantized(const std::string& scales) {
    const TemporaryFolder folder;  // plans take ranges from files
    PrecisionOptions precision;
    precision.int8 = true;
    precision.int4 = !report_.result.weight_blocks.empty();
    precision.calibration = folder.path() / "scales.json";
    write_file(precision.calibration, scales);
    export_model(typed_model(model(), precision, 0).model, arguments_.qdq);
    verify_quantized();
    report_.files.push_back(arguments_.qdq);
  }

  void verify_quantized() {
    if (arguments_.no_verify) {
      report_.checks.push_back(arguments_.qdq + " was not verified: --no-verify");
      return;
    }
    const VerifyOptions how{"", arguments_.data, common_.seed, common_.threads};
    Verification found = verify_export(arguments_.qdq, arguments_.model, model(), how);
    report_.checks = std::move(found.notes);
    for (const Finding& finding : found.findings)
      report_.result.warnings.push_back(fmt::format("{} is wrong: {}", arguments_.qdq, finding.message));
    disagrees_ = !found.findings.empty();
  }

  const CalibrateArguments& arguments_;
  const CommonOptions& common_;
  ImportedModel imported_;
  CalibrationReport report_;
  bool disagrees_ = false;  // what --qdq wrote, with what ONNX Runtime computes
};

}  // namespace

std::function<int()> declare_calibrate(CLI::App& app, CommonOptions& common) {
  auto arguments = std::make_shared<CalibrateArguments>();
  arguments->declare(app);
  return [arguments, &common] {
    arguments->require_sense();
    try {
      return CalibrateVerb(*arguments, common).run();
    } catch (Error& error) {
      if (!error.node().empty()) error.in_file(arguments->model);
      throw;
    }
  };
}

}  // namespace vernier
