// `polygraphy debug` with a program that says of every step whether it is right.
#include <fmt/ranges.h>

#include <cmath>

#include "vernier/base/error.h"
#include "vernier/base/interruption.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/polygraphy/check_program.h"
#include "vernier/cli/polygraphy/closing_lines.h"
#include "vernier/cli/process_end.h"
#include "vernier/exec/trace_entry.h"
#include "vernier/ir/clone.h"
#include "vernier/onnx/export.h"
#include "vernier/onnx/import.h"
#include "vernier/reduce/reduce.h"

namespace vernier {

namespace {

void tell(char severity, const std::string& text) {
  print(polygraphy_line(severity, text));
}

// Builds the artifact. What cannot be built is a failure of the step, not of the search, unless nothing ever
// was built.
bool build_artifact(const PolygraphyCommand& command, const std::string& layer_precisions, bool& was_built) {
  CommandWords words = artifact_build_words(command, layer_precisions);
  words.insert(words.end(), command.own.begin(), command.own.end());
  words.emplace_back("--quiet");
  CommandObserver observer;  // of a runner alone, which is recorded, not compared
  observer.sample = [](const std::string&, const NamedData&, const Trace&) {};
  try {
    if (run_commands({words}, &observer) != 0) return false;
    return was_built = true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUsage || !was_built) throw;
    tell('W', "    Failed to build the engine: " + std::string(error.what()));
    return false;
  }
}

// Nodes that compute floats, in the order of the model: what a precision can be asked of.
CommandWords float_nodes(const std::string& model) {
  const ImportedModel imported = import_model(model);
  CommandWords names;
  for (const auto& node : imported.model.graph->nodes()) {
    const bool is_of_floats =
        node->op != "Constant" && !node->outputs.empty() &&
        std::all_of(node->outputs.begin(), node->outputs.end(), [](const Value* output) {
          return output == nullptr || (output->type.is_tensor() && is_float(element_type_of(output->type)));
        });
    if (is_of_floats) names.push_back(node->name);
  }
  return names;
}

class PrecisionSearch {
 public:
  explicit PrecisionSearch(const PolygraphyCommand& command)
      : command_(command), debug_(command.debug), nodes_(float_nodes(command.model)), steps_(debug_) {
    const bool lowers = command.build.fp16 || command.build.bf16 || command.build.int8 || command.build.tf32;
    if (!lowers)
      throw usage_error("polygraphy debug precision: no precision below float32 is asked for")
          .advise("add --fp16, --bf16, --int8 or --tf32");
    if (debug_.higher_type == "fp16" && !command.build.fp16)
      throw usage_error("--precision float16: the engine may not use it").advise("add --fp16");
    if (nodes_.empty()) throw bad_input("has no node that computes floats").in_file(command.model);
  }

  int run() {
    const auto found = debug_.is_linear ? fewest_from_none() : fewest_by_halves();
    steps_.finish();
    if (!found) {
      tell('E', "Could not find a configuration that satisfied accuracy requirements.");
      return 1;
    }
    const char* side = debug_.is_reverse ? "last" : "first";
    if (*found == 0)
      tell('I', "Accuracy is acceptable with no layer in higher precision");
    else
      tell('I',
           fmt::format("To achieve acceptable accuracy, try running the {} {} layer(s) in higher precision",
                       side, *found));
    print(fmt::format("equivalent: {}\n", shell_text({artifact_build_words(command_, precisions(*found))})));
    return 0;
  }

 private:
  std::optional<size_t> fewest_from_none() {
    for (size_t count = 0; count <= nodes_.size(); ++count) {
      if (passes_with(count, static_cast<int>(nodes_.size() - count))) return count;
    }
    return std::nullopt;
  }

  // The fewest of which it is known that they pass, next to fewer that do not.
  std::optional<size_t> fewest_by_halves() {
    size_t good = nodes_.size(), low = 0;  // fewer than `low` fail
    if (!passes_with(good, rest_of(good + 1))) return std::nullopt;
    while (low < good) {
      const size_t middle = (low + good) / 2;
      if (passes_with(middle, rest_of(good - low)))
        good = middle;
      else
        low = middle + 1;
    }
    return good;
  }

  static int rest_of(size_t range) { return static_cast<int>(std::ceil(std::log2(range))); }

  std::string precisions(size_t count) const {
    const size_t begin = debug_.is_reverse ? nodes_.size() - count : 0;
    std::string text;
    for (size_t i = begin; i < begin + count; ++i) {
      std::string name = nodes_[i];
      std::replace(name.begin(), name.end(), ',', '?');  // a comma ends a name; ? matches it
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name,
                          debug_.higher_type.empty() ? "fp32" : debug_.higher_type);
    }
    return text;
  }

  bool passes_with(size_t count, int remaining) {
    tell('I', fmt::format("Selecting {} {} layer(s) to run in higher precision",
                          debug_.is_reverse ? "last" : "first", count));
    return steps_.step([&] { return build_artifact(command_, precisions(count), was_built_); }, remaining);
  }

  const PolygraphyCommand& command_;
  const PolygraphyDebug& debug_;
  const CommandWords nodes_;
  CheckedSteps steps_;
  bool was_built_ = false;
};

// Until a step passes, or fails, or so many are done.
int repeat_steps(const PolygraphyDebug& debug, const std::function<bool()>& make) {
  const bool is_counted = debug.until != "good" && debug.until != "bad";
  const uint64_t most = is_counted ? option_count("--until", debug.until, 1) : UINT64_MAX;
  CheckedSteps steps(debug);
  while (steps.count() < most) {
    const bool passed = steps.step(make, is_counted ? static_cast<int>(most - steps.count()) : -1);
    if (debug.until == (passed ? "good" : "bad")) break;
  }
  steps.finish();
  return 0;
}

// A program that is asked whether a smaller model still shows the failure.
class ProgramOracle : public ReductionOracle {
 public:
  explicit ProgramOracle(const PolygraphyDebug& debug) : debug_(debug), steps_(debug) {}

  Judgement judge(const ReproCase& reproduction) override {
    const bool passed = steps_.step(
        [&] {
          export_model(reproduction.model, debug_.artifact);
          return true;
        },
        -1);
    Judgement judgement;
    if (passed) return judgement;
    judgement.symptom.kind = Symptom::Kind::kError;
    judgement.symptom.message = judgement.symptom.sentence = "the check fails";
    return judgement;
  }
  void finish() const { steps_.finish(); }

 private:
  const PolygraphyDebug& debug_;
  CheckedSteps steps_;
};

int reduce_by_program(const PolygraphyCommand& command) {
  if (command.output.empty())
    throw usage_error("polygraphy debug reduce: no output is given").advise("add -o FILE");
  const ImportedModel imported = import_model(command.model);
  DataOptions data;
  data.files = command.load_inputs;
  data.val_range = command.value_ranges;
  if (!command.shapes.empty()) data.shapes = {command.shapes};
  const auto sample = data.open(imported.model, command.seed.value_or(CommonOptions().seed))->next();
  if (!sample) throw bad_input("there is no sample to reduce the model with").in_file(command.model);
  const ReproCase whole{clone(imported.model), sample->inputs};
  take_interruptions();
  ProgramOracle oracle(command.debug);
  const Judgement judgement = oracle.judge(whole);
  if (judgement.symptom.kind == Symptom::Kind::kNone)
    throw bad_input("nothing is to be reduced: the program of --check passes on the whole model")
        .in_file(command.model);
  const Reduction reduction = reduce(whole, judgement, oracle, {});
  oracle.finish();
  for (const std::string& note : reduction.notes) print("note: " + note + "\n");
  export_model(reduction.result.model, command.output);
  tell('I', fmt::format("Minimum failing model: {} of {} nodes, saved to {}{}", reduction.after.nodes,
                        reduction.before.nodes, command.output,
                        reduction.is_finished ? "" : "; it may be smaller still"));
  return 0;
}

}  // namespace

int execute_debug(const std::string& name, const PolygraphyCommand& command) {
  const PolygraphyDebug& debug = command.debug;
  if (!debug.artifact.empty() && std::filesystem::exists(debug.artifact))
    throw usage_error("'{}' is there already, and would be overwritten", debug.artifact)
        .advise("remove it, or name another file by --intermediate-artifact");
  if (name == "debug repeat") return repeat_steps(debug, [] { return true; });
  if (command.model.empty()) throw usage_error("polygraphy {}: no model is given", name);
  if (name == "debug reduce") return reduce_by_program(command);
  if (name == "debug precision") return PrecisionSearch(command).run();
  bool was_built = false;
  return repeat_steps(debug, [&] { return build_artifact(command, "", was_built); });
}

}  // namespace vernier
