#include "vernier/precision/options.h"

#include <cstdlib>

#include "vernier/numeric/operand_format.h"

namespace vernier {

bool PrecisionOptions::asks_tf32() const {
  return !no_tf32 && (tf32 || std::any_of(layers.begin(), layers.end(),
                                          [](const LayerType& layer) { return layer.tf32; }));
}

bool environment_forbids_tf32() {
  const char* value = std::getenv(kTf32Variable);
  return value != nullptr && std::string_view(value) == "0";
}

bool matches(std::string_view pattern, std::string_view name) {
  // Where to go on when the text after the last * does not match here.
  size_t star = std::string_view::npos, retry = 0, at = 0, p = 0;
  while (at < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[at])) {
      ++p, ++at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

ElementType parse_precision(std::string_view text) {
  constexpr std::pair<std::string_view, ElementType> kNames[] = {{"fp32", ElementType::kFloat},
                                                                 {"fp16", ElementType::kFloat16},
                                                                 {"bf16", ElementType::kBFloat16},
                                                                 {"int8", ElementType::kInt8}};
  for (const auto& [name, type] : kNames) {
    if (text == name || text == element_type_short_name(type)) return type;
  }
  throw usage_error("'{}' is no precision", text)
      .advise("there are fp32, fp16, bf16 and int8, and tf32 for products of fp32");
}

std::vector<LayerType> parse_layer_types(std::string_view text) {
  constexpr OperandFormat kTf32 = OperandFormat::tf32();
  std::vector<LayerType> result;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(text.size(), comma + 1));
    const size_t colon = part.rfind(':');  // names may hold colons themselves
    if (colon == std::string_view::npos || colon == 0)
      throw usage_error("'{}' is not NODE:TYPE", part).advise("write e.g. 'conv1:fp32,/norm/*:bf16'");
    const std::string_view type = part.substr(colon + 1);
    const bool tf32 = type == kTf32.text();
    result.push_back({std::string(part.substr(0, colon)), tf32 ? ElementType::kFloat : parse_precision(type),
                      false, tf32});
  }
  return result;
}

}  // namespace vernier
