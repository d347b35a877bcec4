#include "vernier/report/precision/audit_report.h"

#include <nlohmann/json.hpp>

#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;
using How = ExecutedPrecision::How;

constexpr size_t kNameWidth = 48, kKernelWidth = 36;

std::string type_text(ElementType type) {
  return type == ElementType::kUndefined ? "-" : std::string(element_type_short_name(type));
}

std::string types_text(ElementType compute, ElementType accumulate, ElementType store) {
  return fmt::format("{}/{}/{}", type_text(compute), type_text(accumulate), type_text(store));
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

// int8 was asked for its speed, too: that its values are computed as floats should be seen.
const char* verdict_text(const AuditRow& row) {
  const bool floats =
      row.requested && row.requested->compute == ElementType::kInt8 && is_float(row.executed.compute);
  return floats ? "wider" : "as planned";
}

std::vector<std::string> cells_of(const AuditRow& row) {
  const auto& executed = row.executed;
  const bool runs = executed.how == How::kKernel || executed.how == How::kReference;
  return {row.difference.empty() ? verdict_text(row) : row.difference,
          printable(row.node, kNameWidth),
          row.op,
          row.requested ? types_text(row.requested->compute, row.requested->accumulate, row.requested->store)
                        : "-",
          runs ? types_text(executed.compute, executed.accumulate, executed.store) : how_text(executed.how),
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
  const auto types = [](ElementType compute, ElementType accumulate, ElementType store) {
    return Json{
        {"compute", type_text(compute)}, {"accumulate", type_text(accumulate)}, {"store", type_text(store)}};
  };
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
      node["requested"] = types(row.requested->compute, row.requested->accumulate, row.requested->store);
      node["why"] = row.requested->why;
    }
    node["executed"] = types(row.executed.compute, row.executed.accumulate, row.executed.store);
    node["difference"] = row.difference;
    root["nodes"].push_back(std::move(node));
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
