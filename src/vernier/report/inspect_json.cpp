#include <nlohmann/json.hpp>

#include "vernier/report/inspect_report.h"
#include "vernier/report/json_number.h"

namespace vernier {

using nlohmann::json;

namespace {

json values(const std::vector<ValueSummary>& list) {
  json result = json::array();
  for (const auto& value : list) result.push_back({{"name", value.name}, {"type", value.type}});
  return result;
}

json tensors(const std::vector<WeightSummary>& list) {
  json result = json::array();
  for (const auto& each : list) {
    result.push_back({{"name", each.name},
                      {"type", each.type},
                      {"elements", each.elements},
                      {"bytes", each.bytes},
                      {"min", json_number(each.min)},
                      {"max", json_number(each.max)},
                      {"zeros", each.zeros},
                      {"subnormal", each.subnormal},
                      {"not_finite", each.not_finite}});
  }
  return result;
}

std::string dump(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string inspect_json(const std::string& file, const ModelSummary& summary) {
  json document = {{"schema", "vernier-inspect"},
                   {"version", 1},
                   {"file", file},
                   {"hash", summary.hash},
                   {"ir_version", summary.ir_version},
                   {"producer", summary.producer}};
  document["file_bytes"] = summary.file_bytes;
  for (const auto& [domain, version] : summary.opsets)
    document["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  document["inputs"] = values(summary.inputs);
  document["outputs"] = values(summary.outputs);
  document["symbols"] = summary.symbols;
  document["operators"] = summary.operators;
  document["types"] = summary.types;
  document["int64_nodes"] = summary.int64_nodes;
  document["double_nodes"] = summary.double_nodes;
  document["parameters"] = {{"elements", summary.parameters}, {"bytes", summary.parameter_bytes}};
  document["flops"] = summary.flops ? json(*summary.flops) : json(nullptr);
  document["notes"] = summary.notes;
  document["weights"] = tensors(summary.weights);
  document["layers"] = json::array();
  for (const auto& layer : summary.layers) {
    document["layers"].push_back({{"name", layer.name},
                                  {"op", layer.op},
                                  {"version", layer.version},
                                  {"depth", layer.depth},
                                  {"inputs", layer.inputs},
                                  {"outputs", layer.outputs},
                                  {"attributes", layer.attributes},
                                  {"flops", layer.flops ? json(*layer.flops) : json(nullptr)},
                                  {"bytes", layer.bytes ? json(*layer.bytes) : json(nullptr)}});
  }
  return dump(document);
}

std::string inspect_json(const std::string& file, const DataSummary& summary) {
  json document = {{"schema", "vernier-inspect-data"},
                   {"version", 1},
                   {"file", file},
                   {"format", summary.format},
                   {"description", summary.description},
                   {"samples", json::array()}};
  for (const auto& sample : summary.samples)
    document["samples"].push_back({{"title", sample.title}, {"tensors", tensors(sample.tensors)}});
  return dump(document);
}

}  // namespace vernier
