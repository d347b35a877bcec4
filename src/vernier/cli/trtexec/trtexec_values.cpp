#include "vernier/cli/trtexec/trtexec_values.h"

#include "vernier/base/error.h"
#include "vernier/cli/foreign/equivalent.h"

namespace vernier {

namespace {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

// NAME:VALUE, where the name may hold colons and stand in quotes.
std::pair<std::string, std::string> named_part(const std::string& option, const std::string& part) {
  const size_t colon = part.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == part.size())
    throw usage_error("{}: '{}' is not NAME:VALUE", option, part);
  std::string name = part.substr(0, colon);
  if (name.size() > 1 && name[0] == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
  return {name, part.substr(colon + 1)};
}

}  // namespace

std::vector<double> trtexec_percentiles(const std::string& text) {
  std::vector<double> percentiles;
  for (const std::string& part : parts_of(text)) {
    percentiles.push_back(option_number("--percentile", part, 0));
    if (percentiles.back() > 100) throw usage_error("--percentile: '{}' is above 100", part);
  }
  return percentiles;
}

void add_sizes(SizeTexts& to, const std::string& option, const std::string& text) {
  try {
    for (auto& [name, sizes] : split_sizes(text)) to[name] = std::move(sizes);
  } catch (Error& error) {
    throw usage_error("{}: {}", option, error.message()).advise("write NAME:1x3x224x224,NAME:4");
  }
}

std::string layer_types(const std::string& option, const std::string& text) {
  std::string all, named;
  for (const std::string& part : parts_of(text)) {
    const auto [name, types] = named_part(option, part);
    const std::string type = types.substr(0, types.find('+'));
    // The outputs of a layer may have types of their own there; here a node has one.
    for (size_t plus = types.find('+'); plus != std::string::npos; plus = types.find('+', plus + 1)) {
      if (types.substr(plus + 1, types.find('+', plus + 1) - plus - 1) != type)
        throw unsupported("{}: the outputs of '{}' have types of their own, and a node has one here", option,
                          name);
    }
    (name == "*" ? all : named) += "," + name + ":" + type;
  }
  return (all + named).substr(1);
}

CommandWords input_files(const std::string& text) {
  CommandWords files;
  for (const std::string& part : parts_of(text)) {
    const auto [name, file] = named_part("--loadInputs", part);
    files.push_back(name + "=" + file);
  }
  return files;
}

void require_plain_formats(const std::string& text) {
  for (const std::string& format : parts_of(text)) {
    if (format != "fp32:chw")
      throw unsupported("inputs and outputs have the types and the layout of the model, not '{}'", text);
  }
}

std::string workspace_of_pools(const std::string& text) {
  std::string workspace;
  for (const std::string& part : parts_of(text)) {
    const auto [pool, size] = named_part("--memPoolSize", part);
    if (pool != "workspace") continue;
    // trtexec's units are B, K, M and G, each with an optional "iB"; without one they are MiB.
    const size_t digits = std::min(size.find_first_not_of("0123456789."), size.size());
    std::string unit = size.substr(digits);
    if (unit == "K" || unit == "M" || unit == "G") unit += "iB";
    workspace = size.substr(0, digits) + unit;
  }
  return workspace;
}

}  // namespace vernier
