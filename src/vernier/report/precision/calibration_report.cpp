#include "vernier/report/precision/calibration_report.h"

#include <algorithm>
#include <numeric>

#include "vernier/report/json_number.h"
#include "vernier/report/text_table.h"

namespace vernier {

namespace {

std::string share(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f} %", 100 * *value) : "-";
}

std::vector<std::string> cells(const CalibratedTensor& tensor) {
  return {printable(tensor.name, 60),
          std::string(element_type_short_name(tensor.entry.type)),
          fmt::format("{:.6g}", tensor.entry.scale),
          std::to_string(tensor.entry.zero_point),
          fmt::format("{:.4g}", tensor.low),
          fmt::format("{:.4g}", tensor.high),
          share(tensor.clipped),
          share(tensor.coverage),
          share(tensor.spread)};
}

std::string adapted_text(const AdaptedModel& adapted) {
  std::string text;
  if (adapted.equalised > 0) text += fmt::format("  equalised {} pairs of layers\n", adapted.equalised);
  size_t flipped = 0, weights = 0;
  for (const RoundedLayer& layer : adapted.rounded) flipped += layer.flipped, weights += layer.weights;
  if (!adapted.rounded.empty())
    text += fmt::format("  learnt rounding: {} of {} weights of {} layers are not the nearest\n", flipped,
                        weights, adapted.rounded.size());
  if (adapted.corrected > 0)
    text += fmt::format("  corrected the biases of {} layers, by {:.3g} at most\n", adapted.corrected,
                        adapted.largest_change);
  if (adapted.error_before && adapted.error_after)
    text += fmt::format(
        "  int8 makes a relative L2 error of {:.3g} in the outputs, and made {:.3g} of the model as it was\n",
        *adapted.error_after, *adapted.error_before);
  return text;
}

}  // namespace

// The tensors whose ranges are the most doubtful first.
std::string calibration_text(const CalibrationReport& report, size_t max_rows) {
  const CalibrationResult& result = report.result;
  std::string text = fmt::format("{}: {} tensors, {} samples, {} of them held out, by {}; {:.1f} s\n",
                                 printable(report.model, 100), result.tensors.size(), result.samples,
                                 result.held_out, range_method_name(result.range.method), report.seconds);
  for (const MethodTrial& trial : result.trials)
    text += fmt::format("  {}: int8 makes a relative L2 error of {:.3g} in the outputs\n",
                        range_method_name(trial.method), trial.error);
  if (!result.weight_blocks.empty())
    text += fmt::format("  i4 weights in blocks for {} nodes\n", result.weight_blocks.size());
  if (report.adapted) text += adapted_text(*report.adapted);
  std::vector<const CalibratedTensor*> order;
  for (const CalibratedTensor& tensor : result.tensors) order.push_back(&tensor);
  if (order.size() > max_rows) {
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->spread.value_or(0) > b->spread.value_or(0);
    });
    text += fmt::format("the {} whose scales differ most between two parts of the samples; -v shows all\n",
                        max_rows);
    order.resize(max_rows);
  }
  TextTable table(
      {"tensor", "type", "scale", "zero point", "least", "largest", "clipped", "coverage", "spread"}, 2);
  for (const CalibratedTensor* tensor : order) table.add(cells(*tensor));
  text += table.text(2);
  for (const std::string& warning : result.warnings)
    text += fmt::format("warning: {}\n", printable(warning, 400));
  for (const std::string& check : report.checks) text += printable(check, 400) + "\n";
  for (const std::string& file : report.files) text += fmt::format("wrote {}\n", printable(file, 200));
  return text;
}

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
