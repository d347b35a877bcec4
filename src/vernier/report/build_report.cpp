#include "vernier/report/build_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/engine/file/certificate_json.h"
#include "vernier/report/precision/plan_report.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

std::string megabytes(size_t bytes) {
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// How many steps each kernel takes.
std::string kernels_text(const BuildReport::Plan& plan) {
  std::map<std::string, int> counts;
  for (const auto& step : plan.steps) ++counts[step.kernel.empty() ? "reference" : step.kernel];
  TextTable table({"kernel", "steps"}, 1);
  for (const auto& [kernel, count] : counts) table.add({printable(kernel, 60), std::to_string(count)});
  return table.text(2);
}

std::string steps_text(const BuildReport::Plan& plan) {
  TextTable table({"kernel", "numerics", "nodes"}, 3);
  for (const auto& step : plan.steps)
    table.add({printable(step.kernel.empty() ? "reference" : step.kernel, 44), printable(step.contract, 60),
               printable(joined(step.nodes), 70)});
  return table.text(2);
}

std::string fallbacks_text(const BuildReport::Plan& plan) {
  TextTable table({"without a kernel", "ms", "because"}, 1);
  size_t count = 0;
  double sum = 0;
  for (const auto& step : plan.steps) {
    if (!step.kernel.empty()) continue;
    table.add({printable(joined(step.nodes), 60),
               step.milliseconds ? fmt::format("{:.4f}", *step.milliseconds) : "?",
               printable(step.reason, 90)});
    sum += step.milliseconds.value_or(0);
    ++count;
  }
  std::string text =
      count == 0 ? "" : table.text(2) + fmt::format("  {} steps, {:.4g} ms in all\n", count, sum);
  if (plan.fallback) text += fallback_text(*plan.fallback, 2);
  return text;
}

std::string number(double value) {
  return std::isnan(value) ? "not compared" : fmt::format("{:.2e}", value);
}

std::string accuracy_text(const Certificate& accuracy, double seconds) {
  std::string text = fmt::format("\naccuracy: {} ({:.1f} s; {})\n", verdict_name(accuracy.verdict), seconds,
                                 printable(fmt::format("{}", fmt::join(accuracy.samples, "; ")), 100));
  for (const auto* list : {&accuracy.reasons, &accuracy.notes}) {
    for (const std::string& line : *list) text += fmt::format("  {}\n", printable(line, 160));
  }
  TextTable table({"output", "against what it promises", "as declared", "without rounding"}, 1);
  for (const auto& output : accuracy.outputs)
    table.add(
        {printable(output.name, 40), number(output.planned), number(output.declared), number(output.ideal)});
  return text + "  relative L2 of the engine\n" + table.text(2);
}

Json step_json(const BuildReport::Step& step) {
  return {{"kernel", step.kernel.empty() ? Json() : Json(step.kernel)},
          {"reason", step.reason},
          {"nodes", step.nodes},
          {"contract", step.contract},
          {"device", step.device},
          {"refusal", step.refusal},
          {"copied_bytes", step.copied},
          {"ms", step.milliseconds ? Json(*step.milliseconds) : Json()}};
}

}  // namespace

std::string build_text(const BuildReport& report, bool all_steps) {
  std::string text;
  for (const auto& [title, map] :
       {std::pair("options", &report.options), std::pair("environment", &report.environment)}) {
    text += fmt::format("{}\n", title);
    for (const auto& [key, value] : *map) text += fmt::format("  {}: {}\n", key, printable(value, 100));
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", printable(note, 160));
  for (const auto& each : report.quarantine)
    text += fmt::format("in quarantine: {}\n", printable(each.text, 200));
  TextTable passes({"pass", "numerics", "rewrites"}, 2);
  for (const auto& pass : report.passes)
    passes.add({pass.name, pass.numerics, std::to_string(pass.rewrites)});
  text += fmt::format("\npasses that fired\n{}", passes.text(2));
  for (const auto& plan : report.plans) {
    text += fmt::format("\nplan for {}: {} steps, {} of working memory\n", printable(plan.sizes, 100),
                        plan.steps.size(), megabytes(plan.arena));
    text += all_steps ? steps_text(plan) : kernels_text(plan);
    text += fallbacks_text(plan) + devices_text(plan);
  }
  text += ranges_text(report.tuned, report.ranges, all_steps);
  if (report.plans.empty())
    text += "\nno plan: it is not known which sizes suit the model; plans are made as sizes come\n";
  text += fmt::format("\nbuilt in {:.2f} s; weights {}", report.build_s, megabytes(report.weights));
  if (!report.engine.empty())
    text += fmt::format("; {} has {}", printable(report.engine, 100), megabytes(report.file));
  text += "\n";
  return text + (report.certificate ? accuracy_text(*report.certificate, report.verdict_s)
                                    : "accuracy: not verified\n");
}

std::string ranges_text(const std::vector<std::string>& tuned,
                        const std::map<std::string, std::vector<BuildReport::TacticRange>>& ranges,
                        bool all) {
  if (tuned.size() < 2) return "";
  std::string text = fmt::format("tactics were chosen at {} sizes; {} change with them\n", tuned.size(),
                                 ranges.empty() ? "none" : fmt::format("those of {} nodes", ranges.size()));
  if (!all || ranges.empty()) return text;
  TextTable table({"value", "tactic", "from", "to"}, 4);
  for (const auto& [value, list] : ranges) {
    for (const auto& range : list)
      table.add({printable(value, 40), range.tactic.empty() ? "(own choice)" : range.tactic,
                 printable(range.first, 60), printable(range.last, 60)});
  }
  return text + table.text(2);
}

std::string build_json(const BuildReport& report) {
  Json root = {{"schema", "vernier-build"}, {"version", 1},
               {"model", report.model},     {"engine", report.engine},
               {"options", report.options}, {"environment", report.environment},
               {"notes", report.notes},     {"tactics", report.tactics},
               {"build_s", report.build_s}, {"weights", report.weights},
               {"file", report.file}};
  root["quarantine"] = Json::array();
  for (const auto& each : report.quarantine)
    root["quarantine"].push_back(
        {{"tactic", each.tactic}, {"request", each.request}, {"nodes", each.nodes}, {"reason", each.reason}});
  root["passes"] = Json::array();
  for (const auto& pass : report.passes)
    root["passes"].push_back({{"name", pass.name}, {"class", pass.numerics}, {"rewrites", pass.rewrites}});
  root["plans"] = Json::array();
  for (const auto& plan : report.plans) {
    Json steps = Json::array();
    for (const auto& step : plan.steps) steps.push_back(step_json(step));
    const DeviceCopies copies = copies_of(plan);
    root["plans"].push_back({{"sizes", plan.sizes},
                             {"arena", plan.arena},
                             {"steps", steps},
                             {"copies", {{"count", copies.count}, {"bytes", copies.bytes}}},
                             {"fallback_share", plan.fallback ? Json(plan.fallback->share) : Json()}});
  }
  root["tuned"] = report.tuned;
  root["ranges"] = Json::object();
  for (const auto& [value, ranges] : report.ranges) {
    for (const auto& range : ranges)
      root["ranges"][value].push_back(
          {{"tactic", range.tactic}, {"first", range.first}, {"last", range.last}});
  }
  root["audit"] = Json::parse(audit_json(report.audit));
  root["accuracy"] = report.certificate ? json_of(*report.certificate) : Json();
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr const char* kHostName = "cpu";

// Kernels have no such names.
bool is_copy(const BuildReport::Step& step) {
  return step.kernel.starts_with("copy to ");
}

std::string kilobytes(size_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e3);
}

// Nodes that no accelerator has a kernel for.
std::string refused_text(const BuildReport::Plan& plan) {
  TextTable table({"left to the CPU", "kernel", "copies, kB", "because"}, 2);
  for (const auto& step : plan.steps) {
    if (step.refusal.empty() || step.device != kHostName) continue;
    table.add({printable(fmt::format("{}", fmt::join(step.nodes, ", ")), 60),
               printable(step.kernel.empty() ? "reference" : step.kernel, 44), kilobytes(step.copied),
               printable(step.refusal, 90)});
  }
  return table.rows() == 0 ? "" : table.text(2);
}

}  // namespace

DeviceCopies copies_of(const BuildReport::Plan& plan) {
  DeviceCopies copies;
  for (const auto& step : plan.steps) {
    if (!is_copy(step)) continue;
    ++copies.count;
    copies.bytes += step.copied;
  }
  return copies;
}

std::string devices_text(const BuildReport::Plan& plan) {
  std::map<std::string, size_t> steps;
  for (const auto& step : plan.steps) steps[step.device] += !is_copy(step);
  const std::string refused = refused_text(plan);
  if (refused.empty() && (steps.empty() || (steps.size() == 1 && steps.begin()->first == kHostName)))
    return "";
  const DeviceCopies copies = copies_of(plan);
  std::vector<std::string> parts;
  parts.reserve(steps.size());
  for (const auto& [device, count] : steps) parts.push_back(fmt::format("{} on {}", count, device));
  return fmt::format("  devices: steps {}; {} copies between them move {} kB in a run\n",
                     fmt::join(parts, ", "), copies.count, kilobytes(copies.bytes)) +
         refused;
}

}  // namespace vernier
