#include "vernier/engine/named_options.h"

#include <algorithm>

#include "vernier/base/error.h"

namespace vernier {

namespace {

template <bool PrecisionOptions::*kFlag>
void set_type(const std::string&, BuildOptions& options) {
  options.precision.*kFlag = true;
  if (options.precision.bf16 && options.precision.fp16)
    throw usage_error("--bf16 and --fp16 exclude each other");
}

// Each pattern of "/norm/*,/head/*".
void keep_in_float(const std::string& patterns, BuildOptions& options) {
  std::string_view rest = patterns;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    options.precision.layers.push_back({std::string(rest.substr(0, comma)), ElementType::kFloat, true});
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
}

void append(std::vector<LayerType> more, std::vector<LayerType>& types) {
  types.insert(types.end(), more.begin(), more.end());
}

constexpr std::pair<PrecisionConstraints, const char*> kConstraints[] = {
    {PrecisionConstraints::kObey, "obey"},
    {PrecisionConstraints::kPrefer, "prefer"},
    {PrecisionConstraints::kNone, "none"}};

void set_constraints(const std::string& value, BuildOptions& options) {
  for (const auto& [constraints, name] : kConstraints) {
    if (value != name) continue;
    options.precision.constraints = constraints;
    return;
  }
  throw usage_error("--precision-constraints '{}' is not obey, prefer or none", value);
}

std::optional<std::string> recorded_constraints(const BuildOptions& options) {
  for (const auto& [constraints, name] : kConstraints) {
    if (options.precision.constraints == constraints && constraints != PrecisionConstraints::kObey)
      return name;
  }
  return std::nullopt;
}

std::optional<std::string> recorded_flag(bool given) {
  return given ? std::optional<std::string>("") : std::nullopt;
}

const NamedOption kOptions[] = {
    {"bf16", "", true, "computes in bfloat16 what loses little by it", set_type<&PrecisionOptions::bf16>},
    {"fp16", "", true, "computes in float16 what loses little by it", set_type<&PrecisionOptions::fp16>},
    {"int8", "", true, "computes in int8 what --calibration has ranges for",
     set_type<&PrecisionOptions::int8>,
     [](const BuildOptions& options) { return recorded_flag(options.precision.int8); }},
    {"int4", "", true, "stores weights in blocks of int4, as --calibration says",
     set_type<&PrecisionOptions::int4>},
    {"best", "", true, "computes in the types that this machine is fast in",
     set_type<&PrecisionOptions::best>},
    {"tf32", "", true, "on a GPU, lets products of floats round their factors to TF32, 10 bits of mantissa",
     set_type<&PrecisionOptions::tf32>},
    {"no-tf32", "", true, "lets none do so, whatever a plan or an option asks for",
     set_type<&PrecisionOptions::no_tf32>},
    {"layer-precisions", "'N:fp32,/a/*:bf16'", true, "types of nodes; tf32 of products",
     [](const std::string& value, BuildOptions& options) {
       append(parse_layer_types(value), options.precision.layers);
     }},
    {"layer-output-types", "'N:fp32,…'", true, "types of the results of nodes",
     [](const std::string& value, BuildOptions& options) {
       append(parse_layer_types(value), options.precision.outputs);
     }},
    {"keep-fp32", "PATTERN", true, "nodes that stay in float", keep_in_float},
    {"plan", "FILE", true, "a precision plan",
     [](const std::string& value, BuildOptions& options) { options.precision.plan = value; }},
    {"calibration", "FILE", true, "ranges of values for int8: scales.json, or a cache of TensorRT",
     [](const std::string& value, BuildOptions& options) { options.precision.calibration = value; }},
    {"precision-constraints", "obey|prefer|none", false,
     "whether other types than planned stop the build (default: obey)", set_constraints,
     recorded_constraints},
    {"deterministic", "", false, "the same bits for every run and number of threads",
     [](const std::string&, BuildOptions& options) { options.deterministic = true; },
     [](const BuildOptions& options) { return recorded_flag(options.deterministic); }},
    {"isolate-trials", "", false,
     "tries tactics in child processes: one that crashes, hangs or finds no memory is in quarantine, and the "
     "build goes on",
     [](const std::string&, BuildOptions& options) { options.tune.isolate = true; }},
    {"force-tactic", "NAME", false, "a tactic to take wherever it serves, for tests",
     [](const std::string& value, BuildOptions& options) { options.tune.forced = value; }},
};

}  // namespace

std::span<const NamedOption> named_options() {
  return kOptions;
}

const NamedOption* find_named_option(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const NamedOption& option) { return name == option.name; });
  return found == std::end(kOptions) ? nullptr : found;
}

void set_named_options(const std::map<std::string, std::string>& values, BuildOptions& options) {
  for (const auto& [name, value] : values) {
    if (find_named_option(name) == nullptr) throw usage_error("there is no option '{}' of an engine", name);
  }
  for (const NamedOption& option : kOptions) {
    const auto found = values.find(option.name);
    if (found == values.end()) continue;
    const std::string& value = found->second;
    if (!option.is_flag()) {
      if (value.empty()) throw usage_error("--{} needs a value", option.name);
    } else if (value == "0") {
      continue;
    } else if (!value.empty() && value != "1") {
      throw usage_error("--{} is a flag, and cannot be '{}'", option.name, value);
    }
    option.set(value, options);
  }
}

}  // namespace vernier
