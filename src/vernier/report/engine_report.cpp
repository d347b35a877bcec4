#include "vernier/report/engine_report.h"

#include <fmt/format.h>

#include <set>

#include "vernier/report/build_report.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using Map = std::map<std::string, std::string>;

std::string map_text(const char* title, const Map& map) {
  std::string text = fmt::format("{}\n", title);
  for (const auto& [key, value] : map) text += fmt::format("  {}: {}\n", key, printable(value, 100));
  return map.empty() ? "" : text;
}

std::string kernel_text(const BuildReport::Step& step) {
  return step.kernel.empty() ? "reference" : step.kernel;
}

std::string layers_text(const BuildReport::Plan& plan) {
  TextTable table({"kernel", "numerics", "nodes"}, 3);
  for (const auto& step : plan.steps)
    table.add({printable(kernel_text(step), 44), printable(step.contract, 60),
               printable(fmt::format("{}", fmt::join(step.nodes, ", ")), 80)});
  return table.text(2);
}

// Rows of what differs between two maps; "-" for what is not there.
void add_differences(TextTable& table, const Map& a, const Map& b) {
  std::set<std::string> keys;
  for (const Map* map : {&a, &b}) {
    for (const auto& entry : *map) keys.insert(entry.first);
  }
  for (const std::string& key : keys) {
    const auto find = [&](const Map& map) {
      const auto found = map.find(key);
      return found == map.end() ? std::string("-") : found->second;
    };
    if (find(a) != find(b)) table.add({printable(key, 60), printable(find(a), 60), printable(find(b), 60)});
  }
}

// Says of each ONNX node what computes it, and how.
Map kernels_by_node(const BuildReport::Plan& plan) {
  Map kernels;
  for (const auto& step : plan.steps) {
    for (const std::string& node : step.nodes) {
      std::string& text = kernels[node];
      text += (text.empty() ? "" : " + ") + kernel_text(step) + " (" + step.contract + ")";
    }
  }
  return kernels;
}

Map passes_of(const EngineSummary& engine) {
  Map passes;
  for (const auto& pass : engine.passes) passes[pass.name] = std::to_string(pass.rewrites);
  return passes;
}

std::string table_text(const std::string& title, const TextTable& table, const std::string& empty) {
  return table.rows() == 0 ? empty : title + "\n" + table.text(2);
}

}  // namespace

std::string engine_text(const EngineSummary& engine, bool layers) {
  std::string text =
      fmt::format("engine {}\n  model: {}\n  size: {:.2f} MB, {} constants, {} packed forms\n",
                  printable(engine.file, 100), printable(engine.model, 100),
                  static_cast<double>(engine.file_bytes) / 1e6, engine.constants, engine.packed);
  if (engine.stripped) text += "  its weights are left out: build with --refit puts them in\n";
  text += map_text("built for", engine.fingerprint) + map_text("options", engine.options);
  for (const std::string& profile : engine.profiles)
    text += fmt::format("profile {}\n", printable(profile, 100));
  TextTable passes({"pass", "numerics", "rewrites"}, 2);
  for (const auto& pass : engine.passes)
    passes.add({pass.name, pass.numerics, std::to_string(pass.rewrites)});
  text += "passes that fired\n" + passes.text(2);
  for (const auto& plan : engine.plans) {
    text += fmt::format("plan for {}: {} steps, {:.2f} MB of working memory\n", printable(plan.sizes, 100),
                        plan.steps.size(), static_cast<double>(plan.arena) / 1e6);
    if (layers) text += layers_text(plan);
    text += devices_text(plan);
  }
  text += ranges_text(engine.tuned, engine.ranges, layers);
  text += fmt::format("accuracy: {}\n", engine.accuracy.empty() ? "not verified" : engine.accuracy);
  return text;
}

std::string engine_diff_text(const EngineSummary& a, const EngineSummary& b) {
  TextTable general({"", a.file, b.file}, 3);
  add_differences(general, a.fingerprint, b.fingerprint);
  add_differences(general, a.options, b.options);
  add_differences(general, {{"model", a.model}, {"accuracy", a.accuracy}},
                  {{"model", b.model}, {"accuracy", b.accuracy}});
  add_differences(general, {{"bytes", std::to_string(a.file_bytes)}},
                  {{"bytes", std::to_string(b.file_bytes)}});
  TextTable passes({"pass", "rewrites", "rewrites"}, 1);
  add_differences(passes, passes_of(a), passes_of(b));
  std::string text = table_text("engines", general, "the engines are described alike\n") +
                     table_text("passes", passes, "the same passes fired\n");
  for (const auto& plan : a.plans) {
    const auto other = std::find_if(b.plans.begin(), b.plans.end(),
                                    [&](const auto& each) { return each.sizes == plan.sizes; });
    if (other == b.plans.end()) {
      text += fmt::format("plan for {}: only in {}\n", printable(plan.sizes, 100), printable(a.file, 60));
      continue;
    }
    TextTable kernels({"node", a.file, b.file}, 3);
    add_differences(kernels, kernels_by_node(plan), kernels_by_node(*other));
    text += table_text(fmt::format("plan for {}", printable(plan.sizes, 100)), kernels,
                       fmt::format("plan for {}: the same kernels\n", printable(plan.sizes, 100)));
  }
  for (const auto& plan : b.plans) {
    const bool known = std::any_of(a.plans.begin(), a.plans.end(),
                                   [&](const auto& each) { return each.sizes == plan.sizes; });
    if (!known)
      text += fmt::format("plan for {}: only in {}\n", printable(plan.sizes, 100), printable(b.file, 60));
  }
  return text;
}

}  // namespace vernier
