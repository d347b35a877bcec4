#include <algorithm>
#include <numeric>

#include "vernier/report/precision/calibration_report.h"
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
    text += fmt::format("the {} whose scales differ most between halves of the samples; -v shows all\n",
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

}  // namespace vernier
