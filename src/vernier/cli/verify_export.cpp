#include "vernier/cli/verify_export.h"

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/cli/target_findings.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/onnx/import.h"
#include "vernier/run/comparison_run.h"
#include "vernier/run/renamed_runner.h"

namespace vernier {

namespace {

constexpr const char* kRule = "ORT3-disagrees";
constexpr double kMostOfCodes = 0.1;  // relative L2 that other roundings of integer kernels may make

bool is_quantized(const Model& model) {
  bool found = false;
  for_each_graph(*model.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) found = found || node->op == "DequantizeLinear";
  });
  return found;
}

bool holds_int4(const Model& model) {
  const auto& values = model.graph->values();
  return std::any_of(values.begin(), values.end(), [](const auto& value) {
    return value->is_constant() &&
           (value->constant->type() == ElementType::kInt4 || value->constant->type() == ElementType::kUint4);
  });
}

// The error of one output, as far as one number tells it: relative L2, or the share of elements that differ.
double error_of(const TensorComparison& output) {
  if (output.metrics.distances && is_float(output.type)) return output.metrics.distances->relative_l2;
  return output.metrics.elements == 0
             ? 0
             : static_cast<double>(output.metrics.mismatching) / static_cast<double>(output.metrics.elements);
}

class Verifier {
 public:
  Verifier(const std::filesystem::path& file, const std::filesystem::path& model_file, const Model& model,
           const VerifyOptions& options)
      : file_(file),
        model_file_(model_file),
        model_(model),
        options_(options),
        written_(import_model(file)) {}

  Verification run() {
    try {
      if (options_.target == kTensorrtTarget) {
        if (options_.rewritten) tell_price();
      } else if (const auto engine = load(file_, written_.model)) {
        judge(*engine);
      }
    } catch (const Error& error) {
      if (!options_.data.is_random()) throw;
      result_.notes.push_back(
          fmt::format("not verified: random inputs do not suit the model ({}); give samples with --data",
                      error.message()));
    }
    return std::move(result_);
  }

 private:
  std::string samples() const {
    return options_.data.is_random() ? "on random inputs" : "on the first samples of the data";
  }

  ProcessOptions onnxruntime(const char* optimisation = "all") const {
    OnnxRuntimeOptions options;
    options.optimisation = optimisation;
    options.threads = options_.threads;
    return onnxruntime_process(options);
  }

  // ONNX Runtime with the file; null, with a note or a finding, where there is none, or it does not load it.
  std::unique_ptr<Runner> load(const std::filesystem::path& file, const Model& model) {
    try {
      return std::make_unique<ProcessRunner>(RunnerModel{file, &model}, onnxruntime());
    } catch (const Error& error) {
      // A model that it never took, or has no kernels for, is not meant for it.
      const bool foreign =
          error.code() == ErrorCode::kUnsupported || lacks_kernel(error.message()) || !loads_model();
      if (foreign)
        result_.notes.push_back(fmt::format("not verified by running it: {}",
                                            error.message().substr(0, error.message().find('\n'))));
      else
        fail("", fmt::format("ONNX Runtime takes the model, but not the file: {}", error.message()));
      return nullptr;
    }
  }

  bool loads_model() const {
    try {
      const ProcessRunner loaded({model_file_, &model_}, onnxruntime());
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  ComparisonOutcome compare_runners(Runner& reference, Runner& actual, const Model* model) const {
    ComparisonJob job;
    job.runners = {&reference, &actual};
    job.seed = options_.seed;
    job.compare.random_data = options_.data.is_random();
    job.model = model;
    job.noise_runs = model == nullptr ? 0 : job.noise_runs;
    job.derive_bounds = [&](Runner& runner, const NamedData& inputs, const std::set<std::string>& values) {
      return promised_bounds(runner, inputs, options_.seed, values);
    };
    if (model != nullptr) job.exceeded_bounds = exceeded_bounds(*model, options_.seed);
    const auto source = options_.data.open(written_.model, options_.seed);
    FewSamples few(*source);
    return run_and_compare(job, few);
  }

  void judge(Runner& engine) {
    ReferenceRunner reference({file_, &written_.model});
    const ComparisonOutcome outcome = compare_runners(reference, engine, &written_.model);
    for (const std::string& failure : outcome.failures) fail("", failure);
    double largest = 0;
    std::vector<const TensorComparison*> wrong;
    for (const TensorComparison& output : outcome.comparisons.at(0).tensors) {
      largest = std::max(largest, error_of(output));
      if (output.verdict == Verdict::kFail) wrong.push_back(&output);
    }
    if (!wrong.empty() && holds_int4(written_.model) && agrees_unoptimised(reference)) {
      result_.notes.push_back(fmt::format(
          "ONNX Runtime's optimiser multiplies weights of int4 by activations that it rounds to int8 in "
          "blocks, and is off by {:.3g} {}; with --optimization disable it computes what the file says",
          largest, samples()));
      return;
    }
    const bool quantized = !wrong.empty() && is_quantized(written_.model);
    const auto allowed = quantized ? prices() : Errors();
    for (const TensorComparison* output : wrong) {
      const auto price = allowed.find(output->value);
      if (price != allowed.end() && error_of(*output) <= price->second) continue;
      fail(output->nodes.empty() ? "" : output->nodes.front(),
           fmt::format(
               "output '{}' is off by {:.3g} in ONNX Runtime {}, against the reference of the file{}",
               output->value, error_of(*output), samples(),
               price == allowed.end() ? "" : fmt::format("; rounding to codes costs {:.3g}", price->second)));
    }
    if (result_.findings.empty())
      result_.notes.push_back(fmt::format("ONNX Runtime computes what the file says {}: error {:.3g}{}",
                                          samples(), largest,
                                          !wrong.empty()           ? ", less than rounding to codes costs"
                                          : largest > kMostOfCodes ? ", as far as rounding noise moves it"
                                                                   : ""));
  }

  bool agrees_unoptimised(ReferenceRunner& reference) const {
    ProcessRunner plain({file_, &written_.model}, onnxruntime("disable"));
    return compare_runners(reference, plain, &written_.model).comparisons.at(0).verdict != Verdict::kFail;
  }

  using Errors = std::map<std::string, double>;  // by output

  // Gives the errors of one reference against another.
  Errors errors_of(std::unique_ptr<ReferenceRunner> actual, ReferenceRunner& reference) const {
    RenamedRunner renamed(std::move(actual), "the other");
    const ComparisonOutcome outcome = compare_runners(reference, renamed, nullptr);
    Errors result;
    for (const TensorComparison& output : outcome.comparisons.at(0).tensors)
      result[output.value] = error_of(output);
    return result;
  }

  // Gives what rounding to codes costs the file. The reference that rounds nothing cuts nothing off either.
  // So where codes stand for a Relu, or inputs are beyond their range, this is more than rounding, and the
  // most that integer kernels are known to do counts.
  Errors prices() const {
    ReferenceRunner ideal({file_, &written_.model}, ReferenceMode::kIdeal);
    Errors result = errors_of(std::make_unique<ReferenceRunner>(RunnerModel{file_, &written_.model}), ideal);
    for (auto& [output, error] : result) error = std::min(error, kMostOfCodes);
    return result;
  }

  void tell_price() {
    ReferenceRunner model({model_file_, &model_});
    const Errors errors =
        errors_of(std::make_unique<ReferenceRunner>(RunnerModel{file_, &written_.model}), model);
    const auto worst = std::max_element(errors.begin(), errors.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (worst == errors.end()) return;
    result_.notes.push_back(fmt::format(
        "the rewritten file is off by {:.3g} in output '{}' {}, against the model as it quantized",
        worst->second, worst->first, samples()));
  }

  void fail(const std::string& node, std::string message) {
    result_.findings.push_back({.rule = kRule,
                                .severity = Severity::kError,
                                .effect = 1,
                                .node = node,
                                .message = std::move(message),
                                .remedy = "look for the cause with `vernier diagnose FILE --onnxruntime`"});
  }

  // The first ones are enough.
  class FewSamples : public DataSource {
   public:
    explicit FewSamples(DataSource& all) : all_(all) {}
    std::optional<Sample> next() override {
      auto sample = taken_++ < kMost ? all_.next() : std::nullopt;
      if (sample) sample->expected.reset();  // those of the model, not of the file
      return sample;
    }
    bool withdraw(const Error& why) override { return all_.withdraw(why); }

   private:
    static constexpr size_t kMost = 4;
    DataSource& all_;
    size_t taken_ = 0;
  };

  const std::filesystem::path &file_, &model_file_;
  const Model& model_;
  const VerifyOptions& options_;
  ImportedModel written_;
  Verification result_;
};

}  // namespace

Verification verify_export(const std::filesystem::path& file, const std::filesystem::path& model_file,
                           const Model& model, const VerifyOptions& options) {
  return Verifier(file, model_file, model, options).run();
}

}  // namespace vernier
