#include "vernier/report/json_number.h"
#include "vernier/report/precision/calibration_report.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? json_number<Json>(*value) : Json();
}

Json adapted_json(const AdaptedModel& adapted) {
  Json json = {{"equalised_pairs", adapted.equalised},
               {"corrected_biases", adapted.corrected},
               {"largest_bias_change", json_number(adapted.largest_change)},
               {"error_before", or_null(adapted.error_before)},
               {"error_after", or_null(adapted.error_after)},
               {"rounded", Json::array()}};
  for (const RoundedLayer& layer : adapted.rounded)
    json["rounded"].push_back({{"node", layer.node},
                               {"flipped", layer.flipped},
                               {"weights", layer.weights},
                               {"nearest_mse", json_number(layer.nearest)},
                               {"learnt_mse", json_number(layer.learnt)}});
  return json;
}

}  // namespace

std::string calibration_json(const CalibrationReport& report) {
  const CalibrationResult& result = report.result;
  Json root = {{"schema", "vernier-calibrate"},
               {"version", 1},
               {"model", report.model},
               {"options", report.options},
               {"environment", report.environment}};
  root["samples"] = result.samples;
  root["held_out"] = result.held_out;
  if (!result.trials.empty()) root["methods"] = Json::array();
  for (const MethodTrial& trial : result.trials)
    root["methods"].push_back(
        {{"method", range_method_name(trial.method)}, {"error", json_number(trial.error)}});
  root["tensors"] = Json::array();
  const std::string method(range_method_name(result.range.method));
  for (const CalibratedTensor& tensor : result.tensors)
    root["tensors"].push_back({{"name", tensor.name},
                               {"method", method},
                               {"type", element_type_short_name(tensor.entry.type)},
                               {"scale", tensor.entry.scale},
                               {"zero_point", tensor.entry.zero_point},
                               {"observed", {tensor.low, tensor.high}},
                               {"values", tensor.values},
                               {"clipped", tensor.clipped},
                               {"coverage", or_null(tensor.coverage)},
                               {"spread", or_null(tensor.spread)},
                               {"channels", tensor.channels},
                               {"dead_channels", tensor.dead_channels}});
  for (const auto& [node, block] : result.weight_blocks)
    root["weights"].push_back({{"node", node}, {"type", "i4"}, {"block", block}});
  if (report.adapted) root["adapted"] = adapted_json(*report.adapted);
  root["interrupted"] = result.interrupted;
  root["warnings"] = result.warnings;
  root["checks"] = report.checks;
  root["files"] = report.files;
  root["seconds"] = report.seconds;
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
