#include "vernier/report/devices_text.h"

#include <fmt/format.h>

#include "vernier/report/text_table.h"

namespace vernier {

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
