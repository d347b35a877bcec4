#include "vernier/report/precision/plan_report.h"

#include <nlohmann/json.hpp>

#include "vernier/precision/plan_names.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using nlohmann::json;

constexpr size_t kNodeWidth = 48, kFileWidth = 60, kWhyWidth = 48;

std::string types_of(const LayerPrecision& layer) {
  return fmt::format("{}/{}/{}", compute_name(layer), element_type_short_name(layer.accumulate),
                     element_type_short_name(layer.store));
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
  TextTable table({"node", "compute/accumulate/store", "quantized", "by", "why"}, 5);
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

namespace {

using Json = nlohmann::ordered_json;
using How = ExecutedPrecision::How;

constexpr size_t kNameWidth = 48, kKernelWidth = 36;

std::string type_text(ElementType type) {
  return type == ElementType::kUndefined ? "-" : std::string(element_type_short_name(type));
}

// `of` is a layer, or what was executed, here and below.
template <class Precision>
std::string compute_text(const Precision& of) {
  return of.compute == ElementType::kUndefined ? "-" : std::string(compute_name(of));
}

template <class Precision>
std::string types_text(const Precision& of) {
  return fmt::format("{}/{}/{}", compute_text(of), type_text(of.accumulate), type_text(of.store));
}

template <class Precision>
Json types_json(const Precision& of) {
  return {{"compute", compute_text(of)},
          {"accumulate", type_text(of.accumulate)},
          {"store", type_text(of.store)}};
}

const char* how_text(How how) {
  switch (how) {
    case How::kReference: return "reference";
    case How::kView: return "view";
    case How::kFolded: return "folded";
    case How::kRegion: return "region";
    default: return "kernel";
  }
}

// int8 and TF32 were asked for their speed, too: that floats are computed as they are should be seen.
const char* verdict_text(const AuditRow& row) {
  if (!row.requested || !is_float(row.executed.compute)) return "as planned";
  const bool as_floats = row.requested->compute == ElementType::kInt8 || row.requested->tf32;
  return as_floats && !row.executed.tf32 ? "wider" : "as planned";
}

std::vector<std::string> cells_of(const AuditRow& row) {
  const auto& executed = row.executed;
  const bool runs = executed.how == How::kKernel || executed.how == How::kReference;
  return {row.difference.empty() ? verdict_text(row) : row.difference,
          printable(row.node, kNameWidth),
          row.op,
          row.requested ? types_text(*row.requested) : "-",
          runs ? types_text(executed) : how_text(executed.how),
          runs ? printable(executed.kernel, kKernelWidth) : "",
          row.requested ? row.requested->why : ""};
}

}  // namespace

std::string audit_text(const PrecisionAudit& audit, size_t max_rows) {
  std::map<std::string_view, size_t> counts;
  for (const AuditRow& row : audit.rows) ++counts[how_text(row.executed.how)];
  std::string text =
      fmt::format("precision: {} of {} nodes differ from the plan", audit.differences(), audit.rows.size());
  for (const auto& [how, count] : counts) text += fmt::format(", {} {}", how, count);
  text += "\n";
  TextTable table({"verdict", "node", "operator", "planned", "executed", "kernel", "why"}, 7);
  size_t shown = 0;
  for (const bool differs : {true, false}) {
    for (const AuditRow& row : audit.rows) {
      if (row.difference.empty() == differs || shown == max_rows) continue;
      table.add(cells_of(row));
      ++shown;
    }
  }
  if (shown == 0) return text;
  text += "  computed/accumulated/stored; - where bits are moved, or nothing is stored\n" + table.text(2);
  if (shown < audit.rows.size())
    text += fmt::format("  … and {} more (-v shows all)\n", audit.rows.size() - shown);
  return text;
}

std::string audit_json(const PrecisionAudit& audit) {
  Json root = {{"schema", "vernier-audit"},
               {"version", 1},
               {"differences", audit.differences()},
               {"nodes", Json::array()}};
  for (const AuditRow& row : audit.rows) {
    Json node = {{"node", row.node},
                 {"operator", row.op},
                 {"how", how_text(row.executed.how)},
                 {"kernel", row.executed.kernel}};
    if (row.requested) {
      node["requested"] = types_json(*row.requested);
      node["why"] = row.requested->why;
    }
    node["executed"] = types_json(row.executed);
    node["difference"] = row.difference;
    root["nodes"].push_back(std::move(node));
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
