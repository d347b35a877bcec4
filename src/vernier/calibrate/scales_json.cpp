#include <nlohmann/json.hpp>

#include "vernier/calibrate/calibrate.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json entry_json(const ScaleEntry& entry) {
  return {{"type", element_type_short_name(entry.type)},
          {"scale", entry.scale},
          {"zero_point", entry.zero_point}};
}

std::string text_of(const Json& root) {
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string scales_json(const CalibrationResult& result, const std::string& model_hash) {
  const std::string method(range_method_name(result.range.method));
  Json root = {{"schema", "vernier-scales"}, {"version", 1},
               {"model", model_hash},        {"method", method},
               {"samples", result.samples},  {"tensors", Json::object()}};
  if (result.range.method == RangeMethod::kPercentile) root["percentile"] = result.range.percentile;
  for (const CalibratedTensor& tensor : result.tensors) {
    Json& json = root["tensors"][tensor.name] = entry_json(tensor.entry);
    json["observed"] = {tensor.low, tensor.high};
    if (tensor.coverage) json["coverage"] = *tensor.coverage;
  }
  for (const auto& [node, block] : result.weight_blocks)
    root["weights"][node] = {{"type", element_type_short_name(ElementType::kInt4)}, {"block", block}};
  return text_of(root);
}

std::string scales_json(const Scales& scales) {
  Json root = {{"tensors", Json::object()}};
  for (const auto& [name, entry] : scales) root["tensors"][name] = entry_json(entry);
  return text_of(root);
}

}  // namespace vernier
