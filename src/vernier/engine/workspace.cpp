#include "vernier/engine/workspace.h"

#include <cmath>

#include "vernier/engine/describe.h"

namespace vernier {

namespace {

constexpr double kMiB = 1 << 20;

std::string mebibytes(size_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / kMiB);
}

// "'conv1' (onednn:jit:avx512_core, which works in 2.00 MiB itself)"
std::string step_text(const Step& step) {
  const std::string kernel = step.kernel ? step.kernel->name : "the reference";
  if (step.copies) return "a copy";
  const std::string node = step.node == nullptr ? "a change of layout" : fmt::format("'{}'", step.node->name);
  if (!step.kernel || step.kernel->scratch_bytes == 0) return fmt::format("{} ({})", node, kernel);
  return fmt::format("{} ({}, which works in {} itself)", node, kernel,
                     mebibytes(step.kernel->scratch_bytes));
}

// The profile that holds the sizes; "" where there are none.
std::string profile_text(const std::vector<ShapeProfile>& profiles, const Graph& graph,
                         const std::vector<ValueType>& inputs) {
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (is_within(profiles[i], graph, inputs))
      return fmt::format(" of profile {} ({})", i, profiles[i].text());
  }
  return "";
}

}  // namespace

size_t parse_workspace(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"KiB", 1024}, {"MiB", kMiB}, {"GiB", 1024 * kMiB}, {"B", 1}};
  double unit = kMiB;
  std::string number(text);
  for (const auto& [name, bytes] : kUnits) {
    if (!text.ends_with(name)) continue;
    unit = bytes;
    number.resize(text.size() - name.size());
    break;
  }
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(value > 0) || value * unit > 1e18 || value * unit < 1)
    throw usage_error("--workspace '{}' is no amount of memory", text)
        .advise("give MiB, or a number with B, KiB, MiB or GiB");
  return static_cast<size_t>(value * unit);
}

void require_workspace(const Plan& plan, size_t limit, const std::vector<ShapeProfile>& profiles) {
  if (limit == 0 || plan.arena_bytes <= limit) return;
  std::vector<ValueType> inputs;
  for (const SlotId id : plan.inputs) inputs.push_back(plan.slots[static_cast<size_t>(id)].value->type);
  throw unsupported(
      "the plan for {}{} needs {} of working memory, and {} are allowed; the most, {}, is alive at {}",
      sizes_text(*plan.graph, inputs), profile_text(profiles, *plan.graph, inputs),
      mebibytes(plan.arena_bytes), mebibytes(limit), mebibytes(plan.peak_bytes),
      step_text(plan.steps.at(plan.peak_step)))
      .advise(
          fmt::format("give --workspace {:.0f}, or smaller sizes (--max-shapes), or narrower types (--bf16)",
                      std::ceil(static_cast<double>(plan.arena_bytes) / kMiB)));
}

}  // namespace vernier
