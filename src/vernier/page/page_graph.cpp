#include <nlohmann/json.hpp>

#include "vernier/ir/text.h"
#include "vernier/page/page.h"
#include "vernier/precision/plan_names.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestAttribute = 200;

std::string type_text(ElementType type) {
  return type == ElementType::kUndefined ? "" : std::string(element_type_short_name(type));
}

// `of` is a layer, or what was executed.
template <class Precision>
std::string compute_text(const Precision& of) {
  return of.compute == ElementType::kUndefined ? "" : std::string(compute_name(of));
}

Json attributes_json(const Node& node) {
  Json json = Json::object();
  for (const auto& [name, attribute] : node.attributes) {
    json[name] = printable(attribute_text(attribute, {.elide_constants_above = 16}), kLongestAttribute);
  }
  return json;
}

std::string_view how_name(ExecutedPrecision::How how) {
  switch (how) {
    case ExecutedPrecision::How::kKernel: return "kernel";
    case ExecutedPrecision::How::kReference: return "reference";
    case ExecutedPrecision::How::kView: return "view";
    case ExecutedPrecision::How::kFolded: return "folded";
    case ExecutedPrecision::How::kRegion: return "region";
  }
  return "";
}

Json executed_json(const AuditRow& row) {
  const ExecutedPrecision& executed = row.executed;
  Json json = {{"how", how_name(executed.how)},
               {"kernel", executed.kernel},
               {"compute", compute_text(executed)},
               {"accumulate", type_text(executed.accumulate)},
               {"store", type_text(executed.store)}};
  if (row.requested) json["requested"] = compute_text(*row.requested);
  if (!row.difference.empty()) json["difference"] = row.difference;
  return json;
}

Json requested_json(const LayerPrecision& layer) {
  return {{"how", "kernel"},
          {"kernel", ""},
          {"compute", compute_text(layer)},
          {"accumulate", type_text(layer.accumulate)},
          {"store", type_text(layer.store)},
          {"requested", compute_text(layer)}};
}

// Adds graphs, outer before inner.
class GraphWriter {
 public:
  explicit GraphWriter(const PageGraph& from) : from_(from) {
    for (const AuditRow& row : from.audit.rows) executed_[row.node] = &row;
  }

  Json written() {
    add_graph(*from_.graph, std::nullopt);
    Json steps = Json::array();
    for (const StepDescription& step : from_.steps)
      steps.push_back({{"kernel", step.kernel},
                       {"reason", step.reason},
                       {"nodes", step.nodes},
                       {"contract", step.contract},
                       {"device", step.device}});
    return {{"name", from_.name},
            {"inputs", names(from_.graph->inputs)},
            {"outputs", names(from_.graph->outputs)},
            {"types", std::move(types_)},
            {"constants", std::move(constants_)},
            {"regions", std::move(regions_)},
            {"nodes", std::move(nodes_)},
            {"steps", std::move(steps)}};
  }

 private:
  static Json names(const std::vector<Value*>& values) {
    Json json = Json::array();
    for (const Value* value : values) json.push_back(value == nullptr ? "" : value->name);
    return json;
  }

  void add_graph(const Graph& graph, std::optional<size_t> region) {
    for (const auto& value : graph.values()) {
      types_.push_back({value->name, value->type.text()});
      if (value->is_constant()) constants_.push_back(value->name);
    }
    std::vector<std::pair<size_t, const Graph*>> inner;
    for (const auto& node : graph.nodes()) {
      for (const auto& [name, body] : node->regions) {
        inner.emplace_back(regions_.size(), body.get());
        regions_.push_back({{"owner", nodes_.size()}, {"name", name}});
      }
      add_node(*node, region);
    }
    for (const auto& [index, body] : inner) add_graph(*body, index);
  }

  void add_node(const Node& node, std::optional<size_t> region) {
    Json json = {{"name", node.name},
                 {"op", node.qualified_op()},
                 {"inputs", names(node.inputs)},
                 {"outputs", names(node.outputs)}};
    if (region) json["region"] = *region;
    const auto from = onnx_nodes(node);
    if (from != std::set<std::string>{node.name}) json["from"] = from;
    if (!node.attributes.empty()) json["attributes"] = attributes_json(node);
    add_precision(json, from);
    nodes_.push_back(std::move(json));
  }

  void add_precision(Json& json, const std::set<std::string>& from) const {
    for (const std::string& name : from) {
      if (const auto row = executed_.find(name); row != executed_.end())
        json["precision"] = executed_json(*row->second);
      else if (const LayerPrecision* layer = from_.plan.find(name))
        json["precision"] = requested_json(*layer);
    }
  }

  const PageGraph& from_;
  std::map<std::string, const AuditRow*> executed_;
  Json types_ = Json::array(), constants_ = Json::array(), regions_ = Json::array(), nodes_ = Json::array();
};

}  // namespace

std::string page_graph_json(const PageGraph& from) {
  return GraphWriter(from).written().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vernier
