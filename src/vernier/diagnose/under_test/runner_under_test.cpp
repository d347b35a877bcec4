#include "vernier/diagnose/under_test/runner_under_test.h"

#include <algorithm>
#include <optional>
#include <set>

#include "vernier/base/file.h"
#include "vernier/diagnose/under_test/inner_values.h"
#include "vernier/diagnose/under_test/partial_models.h"
#include "vernier/diagnose/under_test/unshown_regions.h"
#include "vernier/ir/clone.h"
#include "vernier/onnx/export.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool shows_inner_values(const Trace& trace) {
  return std::any_of(trace.entries.begin(), trace.entries.end(),
                     [](const TraceEntry& entry) { return !entry.is_output; });
}

void note(ShownRun& shown, const std::string& text) {
  if (std::find(shown.notes.begin(), shown.notes.end(), text) == shown.notes.end())
    shown.notes.push_back(text);
}

}  // namespace

NamedData outputs_of(const Trace& trace) {
  NamedData outputs;
  for (const TraceEntry& entry : trace.entries) {
    if (entry.is_output) outputs[entry.value] = entry.datum;
  }
  return outputs;
}

// Another model, in a file of its own, with the engine that runs it.
class RunnerUnderTest::Copy {
 public:
  Copy(Model model, std::vector<std::string> values, const MakeRunner& make, double seconds)
      : model_(std::move(model)), values_(std::move(values)) {
    const auto path = folder_.path() / "model.onnx";
    export_model(model_, path);
    runner_ = make({path, &model_}, seconds);
  }

  const std::vector<std::string>& values() const { return values_; }  // inner ones that it gives out
  Runner& runner() { return *runner_; }

 private:
  TemporaryFolder folder_;
  Model model_;
  std::vector<std::string> values_;
  std::unique_ptr<Runner> runner_;
};

RunnerUnderTest::RunnerUnderTest(Runner& runner, const Model& model, MakeRunner make, StartAgain again)
    : runner_(runner), model_(model), make_(std::move(make)), again_(std::move(again)) {}

RunnerUnderTest::RunnerUnderTest(std::unique_ptr<Copy> own, const Model& model, MakeRunner make,
                                 double seconds)
    : own_(std::move(own)),
      runner_(own_->runner()),
      model_(model),
      make_(std::move(make)),
      seconds_(seconds) {}

RunnerUnderTest::~RunnerUnderTest() = default;

NamedData RunnerUnderTest::run(const NamedData& inputs) {
  return outputs_of(runner_.run(inputs, {}));
}

std::optional<NamedData> RunnerUnderTest::run_other(const Model& model, const NamedData& inputs) {
  if (!make_) return std::nullopt;
  return outputs_of(Copy(clone(model), {}, make_, seconds_).runner().run(inputs, {}));
}

std::unique_ptr<EngineUnderTest> RunnerUnderTest::with_model(const Model& model) {
  if (!make_) return nullptr;
  auto copy = std::make_unique<Copy>(clone(model), std::vector<std::string>(), make_, seconds_);
  return std::unique_ptr<EngineUnderTest>(new RunnerUnderTest(std::move(copy), model, make_, seconds_));
}

void RunnerUnderTest::limit_time(double seconds) {
  seconds_ = seconds;
  runner_.limit_time(seconds);
  if (copy_) copy_->runner().limit_time(seconds);
}

std::vector<std::string> RunnerUnderTest::intrusive_values() const {
  const std::set<const Value*> outputs(model_.graph->outputs.begin(), model_.graph->outputs.end());
  std::vector<std::string> names;
  for (const auto& node : model_.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->type.is_tensor() && !outputs.contains(output))
        names.push_back(output->name);
    }
  }
  return names;
}

// Some engines refuse to show what follows from constants alone, since they have put others in its place.
ShownRun RunnerUnderTest::show(const NamedData& inputs, const ShowOptions& options) {
  if (options.values) return show_values(inputs, *options.values, options);
  const auto values = intrusive_values();
  ShownRun shown = show_values(inputs, values, options);
  if (shown.values.size() > model_.graph->outputs.size() || !shown.batches.empty()) return shown;
  const std::set<std::string> settled = settled_values(*model_.graph);
  std::vector<std::string> others;
  std::copy_if(values.begin(), values.end(), std::back_inserter(others),
               [&](const std::string& value) { return !settled.contains(value); });
  if (others.empty() || others.size() == values.size()) return shown;
  ShownRun more = show_values(inputs, others, options);
  for (const std::string& text : shown.notes) note(more, text);
  return more;
}

// The sizes of inner values follow from those of the inputs, but for a few.
const std::map<std::string, size_t>& RunnerUnderTest::bytes_of(const std::vector<std::string>& values,
                                                               const NamedData& inputs) {
  std::map<std::string, Dims> dims;
  for (const auto& [name, datum] : inputs) {
    if (datum.is_tensor()) dims[name] = datum.tensor.dims();
  }
  auto [known, is_new] = bytes_.try_emplace({std::move(dims), values});
  if (is_new) known->second = bytes_of_values(*model_.graph, values, inputs);
  return known->second;
}

ShownRun RunnerUnderTest::show_values(const NamedData& inputs, const std::vector<std::string>& values,
                                      const ShowOptions& options) {
  ShownRun shown;
  shown.defaults = default_inputs(*model_.graph);
  auto batches = in_batches(values, bytes_of(values, inputs), options.most_bytes);
  if (batches.size() > 1) {
    if (options.in_batches) show_in_batches(inputs, std::move(batches), options.most_bytes, shown);
    return shown;
  }
  std::set<std::string> names;
  for (TraceEntry& entry : trace_of(inputs, values, shown).entries) {
    names.insert(entry.value);
    shown.values[entry.value] = std::move(entry.datum);
  }
  shown.graph = group_unshown(*model_.graph, names);
  return shown;
}

// Each batch is run once, and once more when its values are wanted where they cannot be kept in a file.
void RunnerUnderTest::show_in_batches(const NamedData& inputs, std::vector<std::vector<std::string>> batches,
                                      size_t most_bytes, ShownRun& shown) {
  std::set<std::string> names;
  std::vector<std::optional<NamedData>> kept;
  for (auto& batch : batches) {
    const Trace trace = trace_of(inputs, batch, shown);
    shown.values = outputs_of(trace);
    std::erase_if(batch, [&](const std::string& value) { return trace.find(value) == nullptr; });
    names.insert(batch.begin(), batch.end());
    kept.push_back(kept_aside(trace, most_bytes / batches.size()));
  }
  note(shown, fmt::format("inner values are shown in {} runs, since they are too large to be held at once",
                          batches.size()));
  shown.batches = std::move(batches);
  shown.fetch = [this, inputs, names = shown.batches, kept = std::move(kept)](size_t batch) {
    if (kept.at(batch)) return *kept[batch];
    ShownRun unused;
    NamedData values;
    for (TraceEntry& entry : trace_of(inputs, names.at(batch), unused).entries)
      values[entry.value] = std::move(entry.datum);
    return values;
  };
  shown.graph = group_unshown(*model_.graph, names);
}

Trace RunnerUnderTest::trace_of(const NamedData& inputs, const std::vector<std::string>& values,
                                ShownRun& shown) {
  if (values.empty()) return runner_.run(inputs, {});
  std::optional<Trace> by_taps = can_tap_ ? tapped(inputs, values, shown) : std::nullopt;
  if (by_taps && shows_inner_values(*by_taps)) return *by_taps;
  if (auto by_copy = exposed(inputs, values, shown)) return *by_copy;
  return by_taps ? *by_taps : runner_.run(inputs, {});
}

std::optional<Trace> RunnerUnderTest::tapped(const NamedData& inputs, const std::vector<std::string>& values,
                                             ShownRun& shown) {
  try {
    Trace trace = runner_.run(inputs, values);
    for (const std::string& text : trace.notes) note(shown, text);
    // A runner that shows none of all values shows none of any.
    if (!shows_inner_values(trace) && values.size() == intrusive_values().size()) can_tap_ = false;
    return trace;
  } catch (const Error& error) {
    note(shown, fmt::format("{} refuses to show inner values: {}", name(), error.message()));
    return std::nullopt;
  }
}

std::optional<Trace> RunnerUnderTest::exposed(const NamedData& inputs, const std::vector<std::string>& values,
                                              ShownRun& shown) {
  if (!make_) return std::nullopt;
  const std::set<std::string> wanted(values.begin(), values.end());
  try {
    if (!copy_ || copy_->values() != values) {
      copy_.reset();
      copy_ = std::make_unique<Copy>(exposing(model_, wanted), values, make_, seconds_);
    }
    Trace trace = copy_->runner().run(inputs, {});
    for (TraceEntry& entry : trace.entries)
      entry.is_output = entry.is_output && !wanted.contains(entry.value);
    note(shown, "inner values are shown by a copy of the model, of which they are outputs");
    return trace;
  } catch (const Error& error) {
    copy_.reset();
    note(shown,
         fmt::format("a copy of the model with inner values as outputs does not run: {}", error.message()));
    return std::nullopt;
  }
}

NumericsContract RunnerUnderTest::assumed_contract(const Node& node) const {
  return contract_of_black_box(node);
}

NumericsContract contract_of_black_box(const Node& node) {
  NumericsContract contract = float_contract(node);
  contract.by_formula = true;
  contract.rounds_between = ops::is_group(node);
  return contract;
}

}  // namespace vernier
