#include "vernier/ops/attribute_defaults.h"

namespace vernier::ops {

namespace {

struct Default {
  std::string_view op, attribute;
  float value;
  int64_t before = 0;  // holds before this opset only; such rows come first. 0: for all others
};

constexpr Default kDefaults[] = {
    {"Selu", "alpha", 1.6732F, 6},
    {"Selu", "gamma", 1.0507F, 6},
    {"Selu", "alpha", 1.67326319217681884765625F},
    {"Selu", "gamma", 1.05070102214813232421875F},
    {"Celu", "alpha", 1},
    {"Elu", "alpha", 1},
    {"HardSigmoid", "alpha", 0.2F},
    {"HardSigmoid", "beta", 0.5F},
    {"LeakyRelu", "alpha", 0.01F},
    {"QLinearLeakyRelu", "alpha", 0.01F},
    {"QuickGelu", "alpha", 1.702F},
    {"Shrink", "bias", 0},
    {"Shrink", "lambd", 0.5F},
    {"Swish", "alpha", 1},
    {"ThresholdedRelu", "alpha", 1},
    {"BatchNormalization", "epsilon", 1e-5F},
    {"EmbedLayerNormalization", "epsilon", 1e-12F},
    {"GroupNorm", "epsilon", 1e-5F},
    {"GroupNormalization", "epsilon", 1e-5F},
    {"InstanceNormalization", "epsilon", 1e-5F},
    {"LayerNormalization", "epsilon", 1e-5F},
    {"QEmbedLayerNormalization", "epsilon", 1e-12F},
    {"RMSNormalization", "epsilon", 1e-5F},
    {"SimplifiedLayerNormalization", "epsilon", 1e-5F},
    {"SkipGroupNorm", "epsilon", 1e-5F},
    {"SkipLayerNormalization", "epsilon", 1e-12F},
    {"SkipSimplifiedLayerNormalization", "epsilon", 1e-12F},
};

float default_of(std::string_view op, std::string_view attribute, int64_t version) {
  for (const Default& row : kDefaults) {
    if (row.op == op && row.attribute == attribute && (row.before == 0 || version < row.before))
      return row.value;
  }
  throw internal_error("no default of the attribute '{}' of {} is known", attribute, op);
}

}  // namespace

float real_attribute(const Node& node, std::string_view name) {
  return node.attribute<float>(name, default_of(node.op, name, node.version));
}

float default_real(std::string_view op, std::string_view name) {
  return default_of(op, name, std::numeric_limits<int64_t>::max());
}

int64_t softmax_axis(const Node& node) {
  return node.attribute<int64_t>("axis", softmax_flattens(node) ? 1 : -1);
}

bool softmax_flattens(const Node& node) {
  return (node.op == "QLinearSoftmax" ? node.attribute<int64_t>("opset", 0) : node.version) < 13;
}

}  // namespace vernier::ops
