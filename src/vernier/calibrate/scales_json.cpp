#include <nlohmann/json.hpp>

#include "vernier/calibrate/calibrate.h"

namespace vernier {

std::string scales_json(const CalibrationResult& result, const std::string& model_hash) {
  using Json = nlohmann::ordered_json;
  const std::string method(range_method_name(result.range.method));
  Json root = {{"schema", "vernier-scales"}, {"version", 1},
               {"model", model_hash},        {"method", method},
               {"samples", result.samples},  {"tensors", Json::object()}};
  if (result.range.method == RangeMethod::kPercentile) root["percentile"] = result.range.percentile;
  for (const CalibratedTensor& tensor : result.tensors) {
    Json& json = root["tensors"][tensor.name];
    json = {{"type", element_type_short_name(tensor.entry.type)},
            {"scale", tensor.entry.scale},
            {"zero_point", tensor.entry.zero_point},
            {"observed", {tensor.low, tensor.high}}};
    if (tensor.coverage) json["coverage"] = *tensor.coverage;
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
