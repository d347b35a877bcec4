#include "vernier/cli/engine_repair_builder.h"

#include "vernier/engine/engine_runner.h"
#include "vernier/engine/named_options.h"

namespace vernier {

namespace {

// As a shell takes it.
std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                             "_-./=:,+@%") == std::string::npos;
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool has_node(const Graph& graph, const std::string& name) {
  bool found = false;
  for_each_graph(graph, [&](const Graph& each) {
    for (const auto& node : each.nodes()) found = found || node->name == name;
  });
  return found;
}

}  // namespace

EngineRepairBuilder::EngineRepairBuilder(RunnerSpec spec, const RunnerModel& model, int threads)
    : spec_(std::move(spec)), model_(model), threads_(threads) {}

RunnerSpec EngineRepairBuilder::changed(const EngineChange& change) const {
  RunnerSpec spec = spec_;
  spec.options.erase("save-run");
  if (!change.plan.empty()) {
    for (const NamedOption& option : named_options()) {
      if (option.says_types) spec.options.erase(option.name);
    }
    spec.options.erase("precision-constraints");
    spec.options["plan"] = change.plan.string();
  }
  for (const auto& [name, value] : change.options) spec.options[name] = value;
  return spec;
}

std::unique_ptr<Runner> EngineRepairBuilder::make(const EngineChange& change, double seconds) {
  if (spec_.kind == "engine" && (change.model.model != nullptr || !change.plan.empty()))
    throw unsupported("an engine file holds the engine that was built")
        .advise("diagnose --cpu, and build it again");
  const RunnerModel& model = change.model.model != nullptr ? change.model : model_;
  RunnerSpec spec = changed(change);
  // A fault for tests is in the kernel of a node: with the node it goes.
  const auto fault = spec.options.find(kFaultOption);
  if (fault != spec.options.end() && change.model.model != nullptr) {
    const size_t colon = fault->second.find(':');
    const std::string node = colon == std::string::npos ? "" : fault->second.substr(colon + 1);
    if (!node.empty() && !has_node(*model.model->graph, node)) spec.options.erase(fault);
  }
  return make_late_runner(spec, model, threads_, seconds);
}

bool EngineRepairBuilder::takes(const std::string& option) const {
  static const std::map<std::string, std::set<std::string>> known = {
      {"cpu", {"deterministic"}}, {"onnxruntime", {"optimization", "runner-option"}}};
  const auto found = known.find(is_built_engine(spec_) ? "cpu" : spec_.kind);
  return found != known.end() && found->second.contains(option) && !spec_.options.contains(option);
}

const PrecisionPlan* EngineRepairBuilder::plan(Runner& engine) const {
  const auto* ours = is_built_engine(spec_) ? dynamic_cast<EngineRunner*>(&engine.original()) : nullptr;
  return ours != nullptr ? &ours->engine()->precision() : nullptr;
}

std::string EngineRepairBuilder::command(const EngineChange& change) const {
  const auto path = change.model.model != nullptr ? change.model.path : model_.path;
  const RunnerSpec spec = changed(change);
  std::string text = fmt::format("vernier run {} --reference --{}", quoted(path.string()), spec.kind);
  if (!spec.argument.empty())
    text += spec.kind == "runner" ? " " + quoted(spec.argument) : "=" + quoted(spec.argument);
  for (const auto& [name, value] : spec.options) {
    text += " --" + name;
    if (!value.empty()) text += " " + quoted(value);
  }
  return text;
}

}  // namespace vernier
