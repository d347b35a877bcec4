#include "vernier/cli/options/precision_options.h"

namespace vernier {

const std::map<std::string, bool>& precision_option_names() {
  static const std::map<std::string, bool> names = {{"fp16", false},
                                                    {"bf16", false},
                                                    {"int8", false},
                                                    {"int4", false},
                                                    {"best", false},
                                                    {"tf32", false},
                                                    {"no-tf32", false},
                                                    {"layer-precisions", true},
                                                    {"layer-output-types", true},
                                                    {"keep-fp32", true},
                                                    {"plan", true},
                                                    {"calibration", true},
                                                    {"precision-constraints", true}};
  return names;
}

std::string types_help() {
  return "  --bf16 --fp16 --int8 --best                 types that the engine may compute in; best: what "
         "this "
         "machine does fast\n"
         "  --tf32                                      on a GPU: products of floats may round their\n"
         "                                              factors to TF32, 10 bits of mantissa\n"
         "  --no-tf32                                   none does, whatever a plan or an option asks for\n"
         "  --int4                                      weights in blocks, as --calibration says\n"
         "  --layer-precisions 'N:fp32,/a/*:bf16'       types of nodes, tf32 of products;\n"
         "                                              --layer-output-types of their results\n"
         "  --keep-fp32 PATTERN                         nodes that stay in float\n"
         "  --plan FILE                                 a precision plan\n"
         "  --calibration FILE                          ranges of values for int8: scales.json, or a cache "
         "of TensorRT\n";
}

std::string precision_help() {
  return types_help() +
         "  --precision-constraints obey|prefer|none    whether other types than planned stop the build "
         "(default: obey)\n";
}

PrecisionOptions parse_precision_options(const RunnerSpec& spec) {
  const auto text = [&](const char* name) {
    const auto found = spec.options.find(name);
    return found == spec.options.end() ? std::string() : found->second;
  };
  PrecisionOptions options;
  options.bf16 = spec.options.contains("bf16");
  options.fp16 = spec.options.contains("fp16");
  options.int8 = spec.options.contains("int8");
  options.int4 = spec.options.contains("int4");
  options.best = spec.options.contains("best");
  options.tf32 = spec.options.contains("tf32");
  options.no_tf32 = spec.options.contains("no-tf32");
  if (options.bf16 && options.fp16) throw usage_error("--bf16 and --fp16 exclude each other");
  options.layers = parse_layer_types(text("layer-precisions"));
  options.outputs = parse_layer_types(text("layer-output-types"));
  std::string_view kept =
      spec.options.contains("keep-fp32") ? spec.options.at("keep-fp32") : std::string_view();
  while (!kept.empty()) {
    const size_t comma = std::min(kept.find(','), kept.size());
    options.layers.push_back({std::string(kept.substr(0, comma)), ElementType::kFloat, true});
    kept.remove_prefix(std::min(kept.size(), comma + 1));
  }
  options.plan = text("plan");
  options.calibration = text("calibration");
  const std::string constraints = text("precision-constraints");
  if (constraints == "prefer")
    options.constraints = PrecisionConstraints::kPrefer;
  else if (constraints == "none")
    options.constraints = PrecisionConstraints::kNone;
  else if (!constraints.empty() && constraints != "obey")
    throw usage_error("--precision-constraints '{}' is not obey, prefer or none", constraints);
  return options;
}

}  // namespace vernier
