#include "vernier/precision/calibration.h"

#include "vernier/precision/json.h"

namespace vernier {

namespace {

constexpr double kInt8Max = 127, kUint8Max = 255;

void require_range(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high))
    throw bad_input("[{}, {}] is no range of numbers", low, high);
}

// Graphs hold scales as floats, of which none may be zero.
double positive_or_one(double scale) {
  return scale > 0 ? std::max<double>(scale, std::numeric_limits<float>::min()) : 1;
}

// Says in which field a value is wrong.
template <class Read>
auto in_field(const char* field, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw bad_input("field '{}' {}", field, error.message());
  }
}

ElementType type_of(const JsonValue& json) {
  const JsonValue* given = json.find("type");
  if (given == nullptr) return ElementType::kInt8;
  const auto& name = in_field("type", [&]() -> const std::string& { return given->string(); });
  const ElementType type = parse_element_type(name).value_or(ElementType::kUndefined);
  if (type != ElementType::kInt8 && type != ElementType::kUint8 && type != ElementType::kFloat8E4M3FN)
    throw bad_input("field 'type' has '{}', which is none of i8, u8 and f8e4m3fn", name);
  return type;
}

int64_t zero_point_of(const JsonValue& json, ElementType type) {
  const JsonValue* given = json.find("zero_point");
  if (given == nullptr) return 0;
  const int64_t zero_point = in_field("zero_point", [&] { return given->integer(); });
  const bool is_code = is_float(type) ? zero_point == 0
                                      : zero_point >= integer_min(type) &&
                                            zero_point <= static_cast<int64_t>(integer_max(type));
  if (!is_code)
    throw bad_input("field 'zero_point' has {}, which is no zero point of {}", zero_point,
                    element_type_short_name(type));
  return zero_point;
}

double number_in(const JsonValue& json, const char* field) {
  const JsonValue& value = json.at(field);
  return in_field(field, [&] { return value.real(); });
}

// A scale that is stored as float must not become zero or infinite there.
ScaleEntry scaled_entry(const JsonValue& json) {
  const double scale = number_in(json, "scale");
  const auto stored = static_cast<float>(scale);
  if (!(stored > 0) || !std::isfinite(stored))
    throw bad_input("field 'scale' has {}, but a scale is a positive number that a float holds", scale);
  const ElementType type = type_of(json);
  return {type, scale, zero_point_of(json, type)};
}

ScaleEntry entry_of(const JsonValue& json) {
  if (json.is_array()) {
    const auto& items = json.items();
    if (items.size() != 2) throw bad_input("has {} numbers where a range [min, max] is needed", items.size());
    return scale_of_range(items[0].real(), items[1].real());
  }
  if (json.find("scale") != nullptr) return scaled_entry(json);
  if (json.find("min") == nullptr) throw bad_input("has neither 'scale' nor 'min' and 'max'");
  return scale_of_range(number_in(json, "min"), number_in(json, "max"));
}

int64_t weight_block_of(const JsonValue& json) {
  const std::string& type =
      in_field("type", [&]() -> const std::string& { return json.at("type").string(); });
  if (type != element_type_short_name(ElementType::kInt4))
    throw bad_input("field 'type' has '{}', but weights in blocks are i4", type);
  const int64_t block = in_field("block", [&] { return json.at("block").integer(); });
  if (block < 1) throw bad_input("field 'block' has {}, but a block has at least one element", block);
  return block;
}

void read_weight_blocks(const JsonValue& root, Ranges& ranges) {
  const JsonValue* weights = root.find("weights");
  if (weights == nullptr) return;
  for (const auto& [node, entry] : weights->members()) {
    try {
      ranges.weight_blocks[node] = weight_block_of(entry);
    } catch (const Error& error) {
      throw bad_input("weights of node '{}': {}", node, error.message());
    }
  }
}

Ranges ranges_of(const JsonValue& root) {
  Ranges ranges;
  const JsonValue* tensors = root.find("tensors");
  if (tensors != nullptr) {
    if (const JsonValue* model = root.find("model"))
      ranges.model = in_field("model", [&] { return model->string(); });
    read_weight_blocks(root, ranges);
  }
  for (const auto& [name, entry] : (tensors != nullptr ? *tensors : root).members()) {
    try {
      ranges.scales[name] = entry_of(entry);
    } catch (const Error& error) {
      throw bad_input("tensor '{}': {}", name, error.message());
    }
  }
  if (ranges.scales.empty() && ranges.weight_blocks.empty()) throw bad_input("names no tensor");
  return ranges;
}

}  // namespace

ScaleEntry scale_of_range(double low, double high) {
  require_range(low, high);
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  if (low == 0) return {ElementType::kUint8, positive_or_one(high / kUint8Max), 0};
  return {ElementType::kInt8, positive_or_one(std::max(-low, high) / kInt8Max), 0};
}

ScaleEntry asymmetric_scale_of_range(double low, double high) {
  require_range(low, high);
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const double scale = positive_or_one((high - low) / kUint8Max);
  return {ElementType::kUint8, scale,
          static_cast<int64_t>(std::clamp(std::nearbyint(-low / scale), 0.0, kUint8Max))};
}

ScaleEntry float8_scale_of_range(double low, double high) {
  require_range(low, high);
  return {ElementType::kFloat8E4M3FN, positive_or_one(std::max(std::abs(low), std::abs(high)) / kFloat8Max),
          0};
}

Ranges parse_ranges(std::string_view text) {
  try {
    return ranges_of(JsonValue::parse(text));
  } catch (const Error& error) {
    throw bad_input("this is no calibration: {}", error.message())
        .advise("write {\"tensors\": {NAME: {\"min\": -1, \"max\": 2}}}, as `vernier calibrate` does");
  }
}

Scales parse_scales(std::string_view text) {
  return parse_ranges(text).scales;
}

ScaleEntry symmetric(const ScaleEntry& entry) {
  if (entry.type == ElementType::kInt8 && entry.zero_point == 0) return entry;
  const auto first = static_cast<double>(integer_min(entry.type) - entry.zero_point);
  const auto last = static_cast<double>(static_cast<int64_t>(integer_max(entry.type)) - entry.zero_point);
  return {ElementType::kInt8, entry.scale * std::max(-first, last) / kInt8Max, 0};
}

}  // namespace vernier
