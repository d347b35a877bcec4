// Metrics in Python, in a process of their own: python/vernier_runners/metric_plugin.py says what is
// exchanged.
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "vernier/backends/process/child_process.h"
#include "vernier/backends/process/onnxruntime.h"
#include "vernier/base/file.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/evaluate/metrics/metrics.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::duration<double> kPatience{60};
constexpr size_t kLongestLine = size_t{1} << 22;
constexpr const char* kAdvice =
    "write def metric(outputs, labels): … that returns a number; see docs/evaluate.md, Metrics in Python";
// Whose scripts lie beside that of the plug-ins.
constexpr std::string_view kOwn[] = {"coco-map", "coco-map:pycocotools", "wer", "cer"};

std::string command_of(const std::string& name) {
  return fmt::format("exec {} {} {}", quoted_for_shell(find_python("")),
                     quoted_for_shell(find_runner_script("metric_plugin.py").string()),
                     quoted_for_shell(name));
}

// Shared with statistics that are asked later.
class MetricProcess {
 public:
  explicit MetricProcess(std::string name) : name_(std::move(name)), process_(command_of(name_)) {}

  // Gives the answer, which is no error.
  JsonValue ask(const Json& request) {
    const std::lock_guard lock(mutex_);
    using Outcome = ChildProcess::Reply::Outcome;
    const auto reply = process_.exchange(request.dump(-1, ' ', false, Json::error_handler_t::replace),
                                         kPatience, kLongestLine);
    if (reply.outcome != Outcome::kLine) {
      const std::string ending = reply.outcome == Outcome::kTimeout
                                     ? fmt::format("takes more than {} s", kPatience.count())
                                     : process_.stop();
      throw bad_input("the metric {}: {}", ending, process_.last_words()).in_file(name_).advise(kAdvice);
    }
    JsonValue answer = JsonValue::parse(reply.line);
    if (const JsonValue* missing = answer.find("missing"))
      throw unsupported("--metric {} needs the Python package {}", name_, missing->string())
          .advise(fmt::format("pip install {}", missing->string()));
    if (const JsonValue* error = answer.find("error"))
      throw bad_input("{}", error->string()).in_file(name_).advise(kAdvice);
    return answer;
  }

 private:
  std::string name_;
  std::mutex mutex_;
  ChildProcess process_;
};

class PythonMetric : public TaskMetric {
 public:
  explicit PythonMetric(const MetricOptions& options)
      : TaskMetric(options.name),
        output_(options.output),
        process_(std::make_shared<MetricProcess>(options.name)) {
    const JsonValue hello =
        process_->ask({{"hello", {{"output", options.output}, {"threshold", options.threshold}}}});
    pooled_ = hello.at("pooled").boolean();
    higher_is_better_ = hello.at("higher_is_better").boolean();
    unit_ = hello.at("unit").string();
    description_ = hello.at("description").string();
  }

  Kind kind() const override { return pooled_ ? Kind::kPooled : Kind::kMean; }
  Needs needs() const override { return Needs::kEither; }
  bool higher_is_better() const override { return higher_is_better_; }
  std::string unit() const override { return unit_; }
  std::string description() const override { return description_; }
  // A row of labels for each row of the first dimension.
  size_t rows(const NamedData& outputs) const override {
    const Tensor& tensor = output_of(outputs, output_);
    return tensor.rank() == 0 ? 1 : static_cast<size_t>(tensor.dims().front());
  }

  RowScores score(const ScoredSample& sample) override {
    const auto outputs = folder_.path() / "outputs.safetensors",
               labels = folder_.path() / "labels.safetensors";
    write_safetensors(outputs, sample.outputs);
    Json request = {{"outputs", outputs.string()}, {"rows", rows(sample.outputs)}};
    if (sample.label.values.is_defined()) {
      write_safetensors(labels, {{"labels", sample.label.values}});
      request["labels"] = labels.string();
    }
    if (!sample.label.json.empty()) request["json"] = sample.label.json;
    RowScores scores;
    const JsonValue answer = process_->ask({{"score", request}});
    for (const JsonValue& row : answer.at("rows").items()) {
      RowScore& score = scores.emplace_back();
      score.value = row.at("value").real();
      score.weight = row.at("weight").real();
      for (const JsonValue& number : row.at("numbers").items()) score.numbers.push_back(number.real());
    }
    return scores;
  }

  RowStatistic over(const RowScores& rows) const override {
    if (!pooled_) return TaskMetric::over(rows);
    Json numbers = Json::array();
    for (const RowScore& row : rows) numbers.push_back(row.numbers);
    const int64_t set = process_->ask({{"keep", numbers}}).at("set").integer();
    return [set, process = process_](std::span<const uint32_t> counts) {
      return process->ask({{"set", set}, {"counts", counts}}).at("value").real();
    };
  }

 private:
  std::string output_;
  TemporaryFolder folder_;
  std::shared_ptr<MetricProcess> process_;
  bool pooled_ = false, higher_is_better_ = true;
  std::string unit_, description_;
};

}  // namespace

bool is_process_metric(const std::string& name) {
  return name.ends_with(".py") || std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

std::unique_ptr<TaskMetric> make_process_metric(const MetricOptions& options) {
  return std::make_unique<PythonMetric>(options);
}

}  // namespace vernier
