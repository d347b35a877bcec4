// LabelEncoder and CategoryMapper (ai.onnx.ml): each element becomes the value at the place where a list of
// keys has it, or a default. LabelEncoder 1 maps between strings and their places in classes_strings; 2 has
// two lists, of strings, integers or floats; 4 also takes tensors and lets the last of repeated keys count,
// where 2 leaves it open and engines take the first. CategoryMapper has a list of strings and one of
// integers.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/lookup.h"

namespace vernier::ops {

namespace {

Tensor strings(const std::vector<std::string>& list) {
  return Tensor::from<std::string>(ElementType::kString, {std::ssize(list)}, list);
}
Tensor ints(const std::vector<int64_t>& list) {
  return Tensor::from<int64_t>(ElementType::kInt64, {std::ssize(list)}, list);
}
Tensor floats(const std::vector<float>& list) {
  return Tensor::from<float>(ElementType::kFloat, {std::ssize(list)}, list);
}

struct Mapping {
  Tensor keys, values, fallback;  // the fallback has one element
  Repeated counts = Repeated::kLast;
};

// The first of "<prefix>_tensor", "<prefix>_strings", "<prefix>_int64s" and "<prefix>_floats" that the node
// has.
Tensor list_attribute(const Node& node, const std::string& prefix) {
  if (const Attribute* list = node.find_attribute(prefix + "_tensor")) return list->get<Tensor>();
  if (const Attribute* list = node.find_attribute(prefix + "_strings"))
    return strings(list->get<std::vector<std::string>>());
  if (const Attribute* list = node.find_attribute(prefix + "_int64s"))
    return ints(list->get<std::vector<int64_t>>());
  if (const Attribute* list = node.find_attribute(prefix + "_floats"))
    return floats(list->get<std::vector<float>>());
  throw bad_input("{} has no {}_* attribute", node.op, prefix);
}

Tensor default_of(const Node& node, ElementType type) {
  if (const Attribute* tensor = node.find_attribute("default_tensor")) return tensor->get<Tensor>();
  if (type == ElementType::kString)
    return strings({node.attribute<std::string>("default_string", "_Unused")});
  if (is_float(type)) return floats({node.attribute<float>("default_float", -0.0f)});
  return ints({node.attribute<int64_t>("default_int64", -1)});
}

Mapping two_way(const Node& node, ElementType input, const Tensor& texts, const Tensor& numbers) {
  const bool from_text = input == ElementType::kString;
  Mapping mapping{from_text ? texts : numbers, from_text ? numbers : texts, {}, Repeated::kLast};
  mapping.fallback = default_of(node, mapping.values.type());
  return mapping;
}

Mapping label_mapping(const Node& node, ElementType input) {
  if (node.version >= 2) {
    const Tensor values = list_attribute(node, "values");
    return {list_attribute(node, "keys"), values, default_of(node, values.type()),
            node.version < 4 ? Repeated::kFirst : Repeated::kLast};
  }
  const auto classes = node.attribute<std::vector<std::string>>("classes_strings", {});
  std::vector<int64_t> places;
  for (size_t i = 0; i < classes.size(); ++i) places.push_back(static_cast<int64_t>(i));
  return two_way(node, input, strings(classes), ints(places));
}

Mapping category_mapping(const Node& node, ElementType input) {
  return two_way(node, input, list_attribute(node, "cats"),
                 ints(node.attribute<std::vector<int64_t>>("cats_int64s", {})));
}

using MappingOf = Mapping (*)(const Node&, ElementType);

template <MappingOf Read>
void infer_label_encoder(InferContext& context) {
  const Mapping mapping = Read(context.node(), context.element(0));
  const bool texts = mapping.values.type() == ElementType::kString;
  if (mapping.keys.size() != mapping.values.size() || mapping.fallback.size() != 1 ||
      texts != (mapping.fallback.type() == ElementType::kString)) {
    throw bad_input("{} keys, {} values and the default do not fit together", mapping.keys.size(),
                    mapping.values.size());
  }
  context.set_output(0, mapping.values.type(), context.shape(0));
}

// out[i] = values[place[i]], or the fallback.
template <class T>
std::vector<T> take(const std::vector<T>& values, const T& fallback, const std::vector<int64_t>& places) {
  std::vector<T> taken;
  taken.reserve(places.size());
  for (const int64_t place : places)
    taken.push_back(place == kNotFound ? fallback : values[static_cast<size_t>(place)]);
  return taken;
}

template <MappingOf Read>
void reference_label_encoder(ReferenceContext& context) {
  const Mapping mapping = Read(context.node(), context.declared(0));
  const auto places = find_in_keys(context, mapping.keys, mapping.counts);
  const Dims& dims = context.dims(0);
  if (mapping.values.type() == ElementType::kString) {
    const auto values = mapping.values.values<std::string>();
    const auto taken =
        take<std::string>({values.begin(), values.end()}, mapping.fallback.values<std::string>()[0], places);
    std::copy(taken.begin(), taken.end(), context.allocate(0, dims).mutable_values<std::string>().begin());
  } else if (is_float(mapping.values.type())) {
    context.store(0, dims, take(mapping.values.to_doubles(), mapping.fallback.to_doubles()[0], places));
  } else {
    context.store_ints(0, dims, take(mapping.values.to_ints(), mapping.fallback.to_ints()[0], places));
  }
}

}  // namespace

void register_label_encoder(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "LabelEncoder",
                .operands = {Role::kData},
                .attributes = {{"classes_strings", "STRINGS"},
                               {"default_float", "FLOAT"},
                               {"default_int64", "INT"},
                               {"default_string", "STRING"},
                               {"default_tensor", "TENSOR"},
                               {"keys_floats", "FLOATS"},
                               {"keys_int64s", "INTS"},
                               {"keys_strings", "STRINGS"},
                               {"keys_tensor", "TENSOR"},
                               {"values_floats", "FLOATS"},
                               {"values_int64s", "INTS"},
                               {"values_strings", "STRINGS"},
                               {"values_tensor", "TENSOR"}},
                .traits = kPointwise,
                .infer = infer_label_encoder<label_mapping>,
                .reference = reference_label_encoder<label_mapping>});
  registry.add({.domain = "ai.onnx.ml",
                .op = "CategoryMapper",
                .operands = {Role::kData},
                .attributes = {{"cats_int64s", "INTS"},
                               {"cats_strings", "STRINGS"},
                               {"default_int64", "INT"},
                               {"default_string", "STRING"}},
                .traits = kPointwise,
                .infer = infer_label_encoder<category_mapping>,
                .reference = reference_label_encoder<category_mapping>});
}

}  // namespace vernier::ops
