#include "vernier/report/inspect_report.h"

#include <nlohmann/json.hpp>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

constexpr size_t kNameWidth = 60;
constexpr size_t kListed = 5;  // names that stand for a longer list

std::string scaled(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(kPrefixes)) value /= 1000, ++prefix;
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

std::string counted(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(-count, name);
  std::sort(order.begin(), order.end());
  std::string text;
  for (const auto& [count, name] : order)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, -count);
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text = fmt::format("{}", names.size());
  for (size_t i = 0; i < std::min(kListed, names.size()); ++i)
    text += (i == 0 ? ": " : ", ") + printable(names[i], kNameWidth);
  return text + (names.size() > kListed ? ", …" : "");
}

void values(std::string& text, const char* title, const std::vector<ValueSummary>& list) {
  text += fmt::format("{}\n", title);
  for (const auto& value : list)
    text += fmt::format("  {}  {}\n", printable(value.name, kNameWidth), value.type);
}

std::string tensors(const char* title, const std::vector<WeightSummary>& list) {
  TextTable table({title, "type", "bytes", "min", "max", "zeros", "subnormal", "not finite"}, 2);
  for (const auto& each : list) {
    table.add({printable(each.name, kNameWidth), each.type, std::to_string(each.bytes),
               fmt::format("{:.4g}", each.min), fmt::format("{:.4g}", each.max), std::to_string(each.zeros),
               std::to_string(each.subnormal), std::to_string(each.not_finite)});
  }
  return table.text(2);
}

void layers(std::string& text, const ModelSummary& summary, bool attributes) {
  for (const auto& layer : summary.layers) {
    const std::string indent(static_cast<size_t>(2 + 2 * layer.depth), ' ');
    text += fmt::format("{}{} [{}, opset {}]", indent, printable(layer.name, kNameWidth), layer.op,
                        layer.version);
    if (layer.flops) text += "  " + scaled(*layer.flops, "FLOP");
    if (layer.bytes) text += "  " + scaled(*layer.bytes, "B");
    text += "\n";
    for (const auto& input : layer.inputs) text += fmt::format("{}  <- {}\n", indent, printable(input, 100));
    for (const auto& output : layer.outputs)
      text += fmt::format("{}  -> {}\n", indent, printable(output, 100));
    if (!attributes) continue;
    for (const auto& attribute : layer.attributes)
      text += fmt::format("{}   . {}\n", indent, printable(attribute, 100));
  }
}

}  // namespace

std::string inspect_text(const std::string& file, const ModelSummary& summary,
                         const InspectOptions& options) {
  std::string text = fmt::format("{}: ONNX, IR version {}, {}, hash {}\n", file, summary.ir_version,
                                 scaled(static_cast<double>(summary.file_bytes), "B"), summary.hash);
  if (!summary.producer.empty())
    text += fmt::format("producer    {}\n", printable(summary.producer, kNameWidth));
  text += "opsets     ";
  for (const auto& [domain, version] : summary.opsets)
    text += fmt::format(" {} {}", domain.empty() ? "ai.onnx" : printable(domain, kNameWidth), version);
  text += "\n";
  values(text, "inputs", summary.inputs);
  values(text, "outputs", summary.outputs);
  text += fmt::format("nodes       {}\n", summary.layers.size());
  text += fmt::format("operators   {}\n", counted(summary.operators));
  text += fmt::format("types       {}\n", counted(summary.types));
  text += fmt::format("parameters  {} in {} tensors, {}\n", summary.parameters, summary.weights.size(),
                      scaled(static_cast<double>(summary.parameter_bytes), "B"));
  text += fmt::format("FLOPs       {}\n",
                      summary.flops ? scaled(*summary.flops, "FLOP") : "depend on the sizes of the inputs");
  int64_t subnormal = 0, not_finite = 0;
  for (const auto& weight : summary.weights) subnormal += weight.subnormal, not_finite += weight.not_finite;
  if (subnormal > 0) text += fmt::format("subnormal   {} weight elements\n", subnormal);
  if (not_finite > 0) text += fmt::format("NaN or Inf  {} weight elements\n", not_finite);
  if (!summary.int64_nodes.empty())
    text += fmt::format("INT64       computed by {}\n", listed(summary.int64_nodes));
  if (!summary.double_nodes.empty())
    text += fmt::format("DOUBLE      computed by {}\n", listed(summary.double_nodes));
  for (const auto& note : summary.notes) text += fmt::format("note        {}\n", printable(note, 200));
  if (options.weights) text += tensors("weight", summary.weights);
  if (options.layers) layers(text, summary, options.attributes);
  return text;
}

std::string inspect_text(const std::string& file, const DataSummary& summary) {
  std::string text = fmt::format("{}: {}, {} sample{}\n", file, summary.format, summary.samples.size(),
                                 summary.samples.size() == 1 ? "" : "s");
  for (const auto& [key, value] : summary.description)
    text += fmt::format("{}: {}\n", printable(key, kNameWidth), printable(value, 100));
  for (const auto& sample : summary.samples) {
    if (!sample.title.empty()) text += printable(sample.title, 100) + "\n";
    text += tensors("tensor", sample.tensors);
  }
  return text;
}

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
