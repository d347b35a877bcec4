#include <algorithm>
#include <cmath>
#include <iostream>

#include "vernier/backends/process/saved_run.h"
#include "vernier/base/file.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/polygraphy/closing_lines.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"
#include "vernier/cli/process_end.h"
#include "vernier/data/formats/polygraphy_json.h"
#include "vernier/data/sample_files.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/onnx/import.h"

namespace vernier {

namespace {

// Results of Polygraphy hold no inputs; a recorded run says which ones they belong to. So each iteration is
// recorded for the sample that has its place.
class RecordedResults {
 public:
  RecordedResults(const PolygraphyCommand& command, const std::filesystem::path& folder) : command_(command) {
    if (!command.model.empty()) imported_ = import_model(command.model);
    for (const std::string& file : command.load_results) record(file, folder);
  }

  // In the order of the runners in the files.
  const CommandWords& runs() const { return runs_; }

 private:
  std::unique_ptr<DataSource> open_samples() const {
    DataOptions data;
    data.files = command_.load_inputs;
    data.val_range = command_.value_ranges;
    if (!command_.shapes.empty()) data.shapes = {command_.shapes};
    if (command_.iterations) data.samples = *command_.iterations;
    return data.open(imported_->model, command_.seed.value_or(CommonOptions().seed));
  }

  void record(const std::string& file, const std::filesystem::path& folder) {
    const auto results =
        read_polygraphy_results(file, imported_ ? declared_types(imported_->model) : ElementTypes{});
    if (results.empty()) throw bad_input("holds no results of a runner").in_file(file);
    for (const auto& [runner, iterations] : results) {
      // Reports name it: after the file that it comes from.
      const std::string stem = std::filesystem::path(file).stem().string();
      const auto path =
          folder / (runs_.empty() ? stem + ".run" : fmt::format("{}.{}.run", stem, runs_.size()));
      RunRecorder recorder(path, runner, {{"recorded by", "Polygraphy"}});
      const auto samples = imported_ ? open_samples() : nullptr;
      for (size_t i = 0; i < iterations.size(); ++i)
        recorder.add(inputs_of(samples.get(), iterations.size(), file), trace_of(runner, iterations[i]));
      if (samples && samples->next())
        throw bad_input("{} holds {} iterations, but there are more samples", runner, iterations.size())
            .in_file(file)
            .advise("give the inputs that the results belong to by --load-inputs");
      recorder.finish();
      runs_.push_back(path);
    }
  }

  NamedData inputs_of(DataSource* samples, size_t iterations, const std::string& file) const {
    if (samples == nullptr) return {};
    auto sample = samples->next();
    if (!sample)
      throw bad_input("holds {} iterations, but there are fewer samples", iterations)
          .in_file(file)
          .advise("give the inputs that the results belong to by --load-inputs");
    return std::move(sample->inputs);
  }

  Trace trace_of(const std::string& runner, const PolygraphyIteration& iteration) const {
    Trace trace;
    trace.runner = runner;
    for (const auto& [name, datum] : iteration.outputs) {
      const Value* output = find_output(name);
      const ElementType declared =
          output == nullptr ? ElementType::kUndefined : element_type_of(output->type);
      trace.entries.push_back({name, datum, output != nullptr || !is_inner(name), declared, {}});
    }
    return trace;
  }

  // Results of "mark all" hold them beside the outputs. What the model does not have at all counts as an
  // output, so that it is missed on the other side.
  bool is_inner(const std::string& name) const {
    if (!imported_) return false;
    for (const auto& node : imported_->model.graph->nodes()) {
      for (const Value* output : node->outputs) {
        if (output != nullptr && output->name == name) return true;
      }
    }
    return false;
  }

  const Value* find_output(const std::string& name) const {
    if (!imported_) return nullptr;
    for (const Value* output : imported_->model.graph->outputs) {
      if (output->name == name) return output;
    }
    return nullptr;
  }

  const PolygraphyCommand& command_;
  std::optional<ImportedModel> imported_;
  CommandWords runs_;
};

// Collects what --save-inputs, --save-outputs and --validate need of each run.
class Collector {
 public:
  explicit Collector(const PolygraphyCommand& command) : command_(command) {}

  void add(const std::string& runner, const NamedData& inputs, const Trace& trace) {
    auto found = std::find_if(results_.begin(), results_.end(),
                              [&](const auto& each) { return each.first == runner; });
    if (found == results_.end()) {
      results_.emplace_back(runner, std::vector<PolygraphyIteration>{});
      found = std::prev(results_.end());
    }
    if (!command_.save_inputs.empty() && found == results_.begin()) inputs_.push_back(inputs);
    PolygraphyIteration iteration;
    iteration.runner = runner;
    for (const TraceEntry& entry : trace.entries) {
      if (command_.validate && entry.is_output) validate(runner, entry);
      if (!command_.save_results.empty()) iteration.outputs[entry.value] = entry.datum;
    }
    found->second.push_back(std::move(iteration));
  }

  void write() const {
    if (!command_.save_inputs.empty()) write_polygraphy_inputs(command_.save_inputs, inputs_);
    if (!command_.save_results.empty()) write_polygraphy_results(command_.save_results, results_);
  }

  bool is_valid() const { return invalid_.empty(); }
  const std::vector<std::string>& invalid() const { return invalid_; }
  // Writes what Polygraphy prints of --validate.
  std::string validation_text() const {
    std::string text;
    for (const auto& [output, valid] : validated_)
      text += polygraphy_line(valid ? 'I' : 'E', valid ? "    PASSED | Output: " + output + " is valid"
                                                       : "    FAILED | Errors detected in output: " + output);
    return text + polygraphy_line(is_valid() ? 'I' : 'E',
                                  is_valid() ? "PASSED | Output Validation" : "FAILED | Output Validation");
  }

 private:
  void validate(const std::string& runner, const TraceEntry& entry) {
    if (!entry.datum.is_tensor() || !is_float(entry.datum.tensor.type())) return;
    size_t bad = 0;
    for (const double value : entry.datum.tensor.to_doubles()) bad += std::isfinite(value) ? 0 : 1;
    bool& valid = validated_.try_emplace(entry.value, true).first->second;
    valid = valid && bad == 0;
    if (bad > 0)
      invalid_.push_back(
          fmt::format("{}: output '{}' holds {} values that are NaN or Inf", runner, entry.value, bad));
  }

  const PolygraphyCommand& command_;
  std::vector<NamedData> inputs_;
  PolygraphyResults results_;
  std::vector<std::string> invalid_;
  std::map<std::string, bool> validated_;  // by output, over all runners and samples
};

// In the place of Polygraphy's files, the runs that were recorded of them.
CommandWords with_runs(const CommandWords& words, const CommandWords& runs) {
  CommandWords result;
  bool placed = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--load-run" || i + 1 == words.size()) {
      result.push_back(words[i]);
      continue;
    }
    ++i;
    if (std::exchange(placed, true)) continue;
    for (const std::string& run : runs) result.insert(result.end(), {"--load-run", run});
  }
  return result;
}

}  // namespace

int execute_run(const PolygraphyCommand& command, CommandWords words) {
  TemporaryFolder folder;
  if (!command.load_results.empty()) words = with_runs(words, RecordedResults(command, folder.path()).runs());
  Collector collector(command);
  CommandObserver observer;
  if (!command.save_inputs.empty() || !command.save_results.empty() || command.validate) {
    observer.sample = [&](const std::string& runner, const NamedData& inputs, const Trace& trace) {
      collector.add(runner, inputs, trace);
    };
  }
  observer.compared = [](const Report& report) { print(polygraphy_comparison_text(report)); };
  const int status = run_commands({std::move(words)}, &observer);
  collector.write();
  if (command.validate) print(collector.validation_text());
  for (const std::string& line : collector.invalid()) std::cerr << "vernier: " << line << "\n";
  return status == 0 && !collector.is_valid() ? 1 : status;
}

}  // namespace vernier
