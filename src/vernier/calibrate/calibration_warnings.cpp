#include "vernier/calibrate/calibration_warnings.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace vernier {

namespace {

// Fewer samples than these rarely tell what all data hold: people who measure it take 100 to 1000.
constexpr size_t kFewSamples = 32;
// Two parts of the data whose scales differ by more than this would be another engine each.
constexpr double kLargeSpread = 0.1;
// A share of held-out values outside of the range, beyond twice what the range clips on purpose.
constexpr double kLargeMiss = 0.001;

std::string quoted(std::vector<std::string> names) {
  constexpr size_t kShown = 3;
  const size_t count = names.size();
  names.resize(std::min(count, kShown));
  return fmt::format("'{}'{}", fmt::join(names, "', '"),
                     count > kShown ? fmt::format(" and {} more", count - kShown) : "");
}

template <class Condition>
std::vector<std::string> names_where(const CalibrationResult& result, const Condition& condition) {
  std::vector<std::string> names;
  for (const CalibratedTensor& tensor : result.tensors) {
    if (condition(tensor)) names.push_back(tensor.name);
  }
  return names;
}

void add_for_data(const CalibrationResult& result, std::vector<std::string>& warnings) {
  if (result.samples < kFewSamples)
    warnings.push_back(fmt::format(
        "{} sample{} may not show what all data hold: give 100 to 1000 that differ, or have the rows "
        "of one counted as many by --rows",
        result.samples, result.samples == 1 ? "" : "s"));
  if (result.held_out == 0 || result.held_out == result.samples) {
    warnings.push_back("no samples could be held out, so nothing is known of how ranges fit other data");
    return;
  }
  const auto worst = std::max_element(
      result.tensors.begin(), result.tensors.end(),
      [](const auto& a, const auto& b) { return a.spread.value_or(0) < b.spread.value_or(0); });
  const auto spread =
      names_where(result, [](const auto& tensor) { return tensor.spread.value_or(0) > kLargeSpread; });
  if (!spread.empty())
    warnings.push_back(fmt::format(
        "more data would change the ranges: of {} of {} tensors the two parts of the samples give scales "
        "that "
        "differ by more than {:.0f} %, of '{}' by {:.0f} %",
        spread.size(), result.tensors.size(), 100 * kLargeSpread, worst->name, 100 * *worst->spread));
  const auto missed = names_where(result, [](const auto& tensor) {
    return 1 - tensor.coverage.value_or(1) > 2 * tensor.clipped + kLargeMiss;
  });
  if (!missed.empty())
    warnings.push_back(fmt::format(
        "ranges of one half of the samples clip values of the other, more than {} in a thousand: {}",
        1000 * kLargeMiss, quoted(missed)));
}

void add_for_tensors(const CalibrationResult& result, std::vector<std::string>& warnings) {
  const auto zero = names_where(
      result, [](const auto& tensor) { return tensor.values > 0 && tensor.low == 0 && tensor.high == 0; });
  if (!zero.empty())
    warnings.push_back(fmt::format("zero in all samples, so without a range: {}", quoted(zero)));
  const auto constant = names_where(result, [](const auto& tensor) {
    return tensor.constant && tensor.values > 1 && (tensor.low != 0 || tensor.high != 0);
  });
  if (!constant.empty())
    warnings.push_back(
        fmt::format("of one value in all samples, so with a guess for a range: {}", quoted(constant)));
  const auto empty = names_where(result, [](const auto& tensor) { return tensor.values == 0; });
  if (!empty.empty()) warnings.push_back(fmt::format("without elements in all samples: {}", quoted(empty)));
  std::vector<std::string> dead;
  for (const CalibratedTensor& tensor : result.tensors) {
    if (tensor.dead_channels > 0 && tensor.dead_channels < tensor.channels)
      dead.push_back(fmt::format("{} of {} of {}", tensor.dead_channels, tensor.channels, tensor.name));
  }
  if (!dead.empty())
    warnings.push_back(fmt::format("channels that are zero in all samples: {}", quoted(dead)));
}

}  // namespace

std::vector<std::string> calibration_warnings(const CalibrationResult& result,
                                              const std::vector<std::string>& hidden_nodes) {
  std::vector<std::string> warnings;
  if (result.interrupted)
    warnings.push_back(
        fmt::format("interrupted: the ranges are those of the first {} samples alone", result.samples));
  add_for_data(result, warnings);
  add_for_tensors(result, warnings);
  if (!hidden_nodes.empty())
    warnings.push_back(fmt::format(
        "what nodes in loops and branches read is not observed, and stays float: {}", quoted(hidden_nodes)));
  return warnings;
}

}  // namespace vernier
