#include "vernier/report/precision/plan_report.h"

#include <nlohmann/json.hpp>

#include "vernier/precision/plan_names.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using nlohmann::json;

constexpr size_t kNodeWidth = 48, kFileWidth = 60, kWhyWidth = 48;

std::string types_of(const LayerPrecision& layer) {
  return fmt::format("{}/{}/{}", element_type_short_name(layer.compute),
                     element_type_short_name(layer.accumulate), element_type_short_name(layer.store));
}

std::string quant_of(const LayerPrecision& layer) {
  std::string text;
  for (const InputScale& each : layer.quant)
    text += fmt::format("{}{}: {} {:.4g}{}", text.empty() ? "" : ", ", each.input,
                        element_type_short_name(each.type), each.scale,
                        each.zero_point == 0 ? "" : fmt::format(" around {}", each.zero_point));
  if (layer.weight_block > 0)
    text += fmt::format("{}weights: i4 in blocks of {}", text.empty() ? "" : ", ", layer.weight_block);
  return text;
}

std::string described(const LayerPrecision& layer) {
  const std::string quant = quant_of(layer);
  return quant.empty() ? types_of(layer) : fmt::format("{} ({})", types_of(layer), quant);
}

// Nodes that differ; an empty text for a plan that does not have the node.
std::vector<std::array<std::string, 3>> differences(const PrecisionPlan& a, const PrecisionPlan& b) {
  std::vector<std::array<std::string, 3>> rows;
  for (const auto& [node, layer] : a.layers) {
    const LayerPrecision* other = b.find(node);
    const std::string mine = described(layer), theirs = other == nullptr ? "" : described(*other);
    if (mine != theirs) rows.push_back({node, mine, theirs});
  }
  for (const auto& [node, layer] : b.layers) {
    if (a.find(node) == nullptr) rows.push_back({node, "", described(layer)});
  }
  return rows;
}

std::string model_text(const PrecisionPlan& plan) {
  return plan.model.empty() ? "any model" : "model " + printable(plan.model, kFileWidth);
}

}  // namespace

std::string plan_text(const NamedPlan& named) {
  const PrecisionPlan& plan = named.plan;
  std::string text =
      fmt::format("{}: precision plan for {}, {} nodes: {}{}\n", printable(named.file, kFileWidth),
                  model_text(plan), plan.layers.size(), summary(plan), plan.tf32 ? "" : "; TF32 is off");
  TextTable table({"node", "compute/accumulate/store", "quantised", "by", "why"}, 5);
  for (const auto& [node, layer] : plan.layers)
    table.add({printable(node, kNodeWidth), types_of(layer), quant_of(layer),
               fmt::format("{}{}", by_name(layer.by), layer.frozen ? ", frozen" : ""),
               printable(layer.why, kWhyWidth)});
  return text + table.text(2);
}

std::string plan_diff_text(const NamedPlan& a, const NamedPlan& b) {
  std::string text;
  if (a.plan.model != b.plan.model)
    text += fmt::format("the plans are for different models: {} and {}\n", model_text(a.plan),
                        model_text(b.plan));
  if (a.plan.tf32 != b.plan.tf32)
    text += fmt::format("TF32 is off in {} alone\n", printable(a.plan.tf32 ? b.file : a.file, kFileWidth));
  TextTable table({"node", a.file, b.file}, 3);
  for (const auto& [node, mine, theirs] : differences(a.plan, b.plan))
    table.add({printable(node, kNodeWidth), mine.empty() ? "-" : mine, theirs.empty() ? "-" : theirs});
  if (table.rows() == 0) return text + "the same types for every node\n";
  return text + fmt::format("{} nodes differ (compute/accumulate/store)\n", table.rows()) + table.text(2);
}

std::string plan_diff_json(const NamedPlan& a, const NamedPlan& b) {
  json document = {{"schema", "vernier-plan-diff"},
                   {"version", 1},
                   {"files", {a.file, b.file}},
                   {"models", {a.plan.model, b.plan.model}},
                   {"nodes", json::array()}};
  for (const auto& [node, mine, theirs] : differences(a.plan, b.plan))
    document["nodes"].push_back({{"node", node}, {"first", mine}, {"second", theirs}});
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
