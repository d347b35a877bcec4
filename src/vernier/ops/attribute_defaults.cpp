#include "vernier/ops/attribute_defaults.h"

namespace vernier::ops {

namespace {

template <class T>
struct Default {
  std::string_view op, attribute;  // no operator: all that have the attribute, but for those named before
  T value;
  int64_t before = 0;  // holds before this opset only; such rows come first. 0: for all others
};

constexpr Default<float> kReals[] = {
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
    {"Dropout", "ratio", 0.5F},
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
    {"LRN", "alpha", 1e-4F},
    {"LRN", "beta", 0.75F},
    {"LRN", "bias", 1},
    {"Gemm", "beta", 1},
    {"FusedGemm", "beta", 1},
    {"Gemm", "alpha", 1},
    {"FusedGemm", "alpha", 1},
    {"FusedMatMul", "alpha", 1},
    {"TransposeMatMul", "alpha", 1},
    {"QGemm", "alpha", 1},
    {"Pad", "value", 0},
    {"", "mask_filter_value", -10000},
    {"", "softcap", 0},
};

// An attribute that ONNX requires has a value here that no operator accepts, or an empty one.
constexpr Default<int64_t> kIntegers[] = {
    {"ArgMax", "axis", 0},
    {"ArgMin", "axis", 0},
    {"Concat", "axis", 1},
    {"DequantizeLinear", "axis", 1},
    {"Flatten", "axis", 1},
    {"Gather", "axis", 0},
    {"GatherElements", "axis", 0},
    {"Hardmax", "axis", 1, 13},
    {"Hardmax", "axis", -1},
    {"LayerNormalization", "axis", -1},
    {"LogSoftmax", "axis", 1, 13},
    {"LogSoftmax", "axis", -1},
    {"LpNormalization", "axis", -1},
    {"OneHot", "axis", -1},
    {"QLinearConcat", "axis", 0},
    {"QuantizeLinear", "axis", 1},
    {"RMSNormalization", "axis", -1},
    {"Scatter", "axis", 0},
    {"ScatterElements", "axis", 0},
    {"SimplifiedLayerNormalization", "axis", -1},
    {"Softmax", "axis", 1, 13},
    {"Softmax", "axis", -1},
    {"Split", "axis", 0},
    {"TopK", "axis", -1},
    {"GatherBlockQuantized", "block_size", 128},
    {"GroupNorm", "channels_last", 1},
    {"SkipGroupNorm", "channels_last", 1},
    {"MatMulBnb4", "transB", 1},
    {"", "K", 0},
    {"", "N", 0},
    {"", "batch_dims", 0},
    {"", "bits", 4},
    {"", "block_size", 0},
    {"", "blocksize", 0},
    {"", "causal", 1},
    {"", "ceil_mode", 0},
    {"", "center_point_box", 0},
    {"", "channels_last", 0},
    {"", "count_include_pad", 0},
    {"", "detect_negative", 1},
    {"", "detect_positive", 1},
    {"", "do_rotary", 0},
    {"", "exclusive", 0},
    {"", "fmod", 0},
    {"GatherBlockQuantized", "gather_axis", 0},
    {"", "group", 1},
    {"", "guarded", 0},
    {"", "input_forget", 0},
    {"", "interleaved", 0},
    {"", "is_causal", 0},
    {"EyeLike", "k", 0},
    {"", "keepdims", 1},
    {"", "kv_num_heads", 0},
    {"", "largest", 1},
    {"", "layout", 0},
    {"", "left_window_size", -1},
    {"", "linear_before_reset", 0},
    {"", "local_window_size", -1},
    {"", "num_groups", 0},
    {"", "num_heads", 0},
    {"", "past_present_share_buffer", 0},
    {"", "precision", 0},
    {"", "q_num_heads", 0},
    {"", "reverse", 0},
    {"", "right_window_size", -1},
    {"", "rotary_embedding_dim", 0},
    {"", "rotary_interleaved", 0},
    {"", "saturate", 1},
    {"", "select_last_index", 0},
    {"LRN", "size", 0},
    {"", "sliding_window_cache", 0},
    {"", "smooth_softmax", 0},
    {"", "sorted", 1},
    {"", "spatial", 1},
    {"", "storage_order", 0},
    {"ReverseSequence", "batch_axis", 1},
    {"ReverseSequence", "time_axis", 0},
    {"", "training_mode", 0},
    {"", "transA", 0},
    {"", "transB", 0},
    {"", "unidirectional", 0},
    {"Trilu", "upper", 1},
};

constexpr Default<std::string_view> kTexts[] = {
    {"BitShift", "direction", ""},
    {"CausalConvWithState", "activation", "none"},
    {"DepthToSpace", "mode", "DCR"},
    {"Einsum", "equation", ""},
    {"SpaceToDepth", "mode", "DCR"},
    {"FusedConv", "activation", ""},
    {"FusedGemm", "activation", ""},
    {"Gelu", "approximate", "none"},
    {"NhwcFusedConv", "activation", ""},
    {"Resize", "coordinate_transformation_mode", "half_pixel"},
    {"Resize", "mode", "nearest"},
    {"Upsample", "coordinate_transformation_mode", ""},
    {"Upsample", "mode", "nearest"},
    {"Scatter", "reduction", "none"},
    {"ScatterElements", "reduction", "none"},
    {"ScatterND", "reduction", "none"},
    {"", "auto_pad", "NOTSET"},
    {"", "k_quant_type", "NONE"},
    {"", "v_quant_type", "NONE"},
};

template <class T, size_t kRows>
const T& default_of(const Default<T> (&rows)[kRows], std::string_view op, std::string_view attribute,
                    int64_t version) {
  for (const Default<T>& row : rows) {
    if ((row.op.empty() || row.op == op) && row.attribute == attribute &&
        (row.before == 0 || version < row.before))
      return row.value;
  }
  throw internal_error("no default of the attribute '{}' of {} is known", attribute, op);
}

// Without asking for a default where none is needed: not every operator that has the attribute has one.
template <class T, class Row, size_t kRows>
T attribute_of(const Node& node, const Default<Row> (&rows)[kRows], std::string_view name) {
  if (node.find_attribute(name) != nullptr) return node.attribute<T>(name, T());
  return T(default_of(rows, node.op, name, node.version));
}

}  // namespace

float real_attribute(const Node& node, std::string_view name) {
  return attribute_of<float>(node, kReals, name);
}

int64_t integer_attribute(const Node& node, std::string_view name) {
  return attribute_of<int64_t>(node, kIntegers, name);
}

std::string text_attribute(const Node& node, std::string_view name) {
  return attribute_of<std::string>(node, kTexts, name);
}

Tensor constant_of_shape_value(const Node& node) {
  return node.attribute<Tensor>("value", Tensor(ElementType::kFloat, {1}));
}

std::optional<float> clip_bound_attribute(const Node& node, std::string_view name) {
  constexpr float kLimit = std::numeric_limits<float>::max();
  constexpr int64_t kHasDefaults = 6;
  if (node.find_attribute(name) == nullptr && node.version < kHasDefaults) return std::nullopt;
  return node.attribute<float>(name, name == "min" ? -kLimit : kLimit);
}

float default_real(std::string_view op, std::string_view name) {
  return default_of(kReals, op, name, std::numeric_limits<int64_t>::max());
}

int64_t softmax_axis(const Node& node) {
  return node.attribute<int64_t>("axis", softmax_flattens(node) ? 1 : -1);
}

bool softmax_flattens(const Node& node) {
  return (node.op == "QLinearSoftmax" ? node.attribute<int64_t>("opset", 0) : node.version) < 13;
}

}  // namespace vernier::ops
