#include "vernier/precision/calibration.h"

#include <nlohmann/json.hpp>

#include "vernier/base/file.h"

namespace vernier {

namespace {

using Json = nlohmann::json;

constexpr double kInt8Max = 127, kUint8Max = 255;

ScaleEntry from_range(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high))
    throw bad_input("[{}, {}] is no range of numbers", low, high);
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  if (low == 0) return {ElementType::kUint8, high > 0 ? high / kUint8Max : 1, 0};
  return {ElementType::kInt8, std::max(-low, high) / kInt8Max, 0};
}

ScaleEntry entry_of(const Json& json) {
  if (json.contains("min")) return from_range(json.at("min").get<double>(), json.at("max").get<double>());
  const auto type = parse_element_type(json.value("type", "i8"));
  const ScaleEntry entry{type.value_or(ElementType::kUndefined), json.at("scale").get<double>(),
                         json.value("zero_point", int64_t{0})};
  if (entry.type != ElementType::kInt8 && entry.type != ElementType::kUint8)
    throw bad_input("'{}' is neither i8 nor u8", json.value("type", ""));
  if (!(entry.scale > 0) || !std::isfinite(entry.scale)) throw bad_input("{} is no scale", entry.scale);
  if (entry.zero_point < integer_min(entry.type) ||
      entry.zero_point > static_cast<int64_t>(integer_max(entry.type)))
    throw bad_input("{} is no zero point of {}", entry.zero_point, element_type_short_name(entry.type));
  return entry;
}

}  // namespace

Scales parse_scales(const std::string& text) {
  try {
    const Json root = Json::parse(text);
    Scales scales;
    for (const auto& [name, entry] : root.at("tensors").items()) {
      try {
        scales[name] = entry_of(entry);
      } catch (const Error& error) {
        throw bad_input("tensor '{}': {}", name, error.message());
      }
    }
    return scales;
  } catch (const Json::exception& error) {
    throw bad_input("this is no calibration: {}", error.what())
        .advise("write {\"tensors\": {NAME: {\"min\": -1, \"max\": 2}}}");
  }
}

Scales read_scales(const std::filesystem::path& path) {
  try {
    return parse_scales(read_file(path));
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

QuantisedWeights quantise_weights(const Tensor& weights, int64_t axis) {
  const auto values = weights.to_doubles();
  const auto along = static_cast<size_t>(weights.dims().at(static_cast<size_t>(axis)));
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < weights.dims().size(); ++i)
    inner *= static_cast<size_t>(weights.dims()[i]);
  std::vector<float> scales(along, 0);
  const auto slice = [&](size_t i) { return i / inner % along; };
  for (size_t i = 0; i < values.size(); ++i)
    scales[slice(i)] = std::max(scales[slice(i)], static_cast<float>(std::abs(values[i]) / kInt8Max));
  for (float& scale : scales) scale = scale > 0 ? scale : 1;
  std::vector<int64_t> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double code = std::nearbyint(values[i] / static_cast<double>(scales[slice(i)]));
    codes[i] = static_cast<int64_t>(std::clamp(code, -kInt8Max, kInt8Max));
  }
  return {Tensor::from_ints(ElementType::kInt8, weights.dims(), codes),
          Tensor::from<float>(ElementType::kFloat, {static_cast<int64_t>(along)}, scales)};
}

}  // namespace vernier
