// Types that TensorRT does not have, or has at the borders of a network only.
#include <algorithm>
#include <set>

#include "vernier/check/tensorrt_rules.h"

namespace vernier {

namespace {

// Calls visit(node, value) for what each node makes and, for inputs and constants, what it reads.
template <class Visit>
void for_each_value(const CheckContext& context, const Visit& visit) {
  for (const Node* node : context.nodes()) {
    for (const Value* input : node->inputs) {
      if (input != nullptr && input->producer() == nullptr) visit(*node, *input);
    }
    for (const Value* output : node->outputs) {
      if (output != nullptr) visit(*node, *output);
    }
  }
}

bool quantizing(const Node& node) {
  return makes_codes(node) || reads_codes(node);  // they have a rule of their own
}

void lacking_types(const CheckContext& context, std::vector<Finding>& findings) {
  constexpr ElementType kLacking[] = {ElementType::kInt16,     ElementType::kUint16, ElementType::kUint32,
                                      ElementType::kUint64,    ElementType::kString, ElementType::kComplex64,
                                      ElementType::kComplex128};
  Collector collector(findings);
  for_each_value(context, [&](const Node& node, const Value& value) {
    const ElementType type = context.type(&value);
    if (quantizing(node)) return;
    if (std::find(std::begin(kLacking), std::end(kLacking), type) != std::end(kLacking))
      collector.add(
          broken("TRT8-type", node,
                 fmt::format("'{}' is {}, which TensorRT does not have", value.name, element_type_name(type)),
                 "cast it to a type that TensorRT has, e.g. INT32 or FLOAT"));
  });
}

void doubles(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_value(context, [&](const Node& node, const Value& value) {
    if (context.type(&value) != ElementType::kDouble) return;
    collector.add({.rule = "TRT9-double",
                   .severity = Severity::kWarning,
                   .effect = 0.5,
                   .node = node.name,
                   .message = fmt::format("'{}' is DOUBLE, which TensorRT makes FLOAT of, cut to its range",
                                          value.name),
                   .remedy = "cast it to FLOAT in the model, and look at what that costs"});
  });
}

// UINT8 stands at inputs and outputs of a network alone, where a Cast makes another type of it.
void bytes_inside(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for_each_value(context, [&](const Node& node, const Value& value) {
    if (context.type(&value) != ElementType::kUint8 || quantizing(node) || node.op == "Cast") return;
    const auto& users = context.users(&value);
    if (std::any_of(users.begin(), users.end(), [](const Node* user) { return quantizing(*user); })) return;
    collector.add(broken("TRT10-bytes", node, fmt::format("'{}' is UINT8 inside of the network", value.name),
                         "cast it where it enters, e.g. to FLOAT"));
  });
}

void wide_integers(const CheckContext& context, std::vector<Finding>& findings) {
  size_t count = 0;
  std::string first;
  for (const Value* input : context.model().graph->inputs) {
    if (context.type(input) != ElementType::kInt64) continue;
    if (count++ == 0) first = input->name;
  }
  if (count == 0) return;
  findings.push_back({.rule = "TRT11-int64",
                      .severity = Severity::kNote,
                      .effect = 0.05,
                      .node = "",
                      .message = fmt::format("{} inputs are INT64, '{}' first; TensorRT 8 and 9 bind them as "
                                             "INT32",
                                             count, first),
                      .remedy = "give these versions INT32"});
}

// ONNX lets some operands have a float type of their own; layers of TensorRT that compute element by element
// do not.
void mixed_floats(const CheckContext& context, std::vector<Finding>& findings) {
  static const std::set<std::string_view> ops = {"Attention", "GridSample",         "PRelu",
                                                 "Pow",       "LayerNormalization", "RMSNormalization"};
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (!node->domain.empty() || !ops.contains(node->op)) continue;
    std::set<ElementType> types;
    for (const Value* input : node->inputs) {
      if (is_float(context.type(input))) types.insert(context.type(input));
    }
    if (types.size() < 2) continue;
    std::string list;
    for (const ElementType type : types)
      list += fmt::format("{}{}", list.empty() ? "" : " and ", element_type_name(type));
    collector.add(broken(
        "TRT12-mixed-types", *node,
        fmt::format("operands of {} are {}; in a strongly typed network they must be equal", node->op, list),
        "cast them to one type"));
  }
}

}  // namespace

void tensorrt_type_rules(std::vector<Rule>& rules) {
  rules.push_back({"TRT8-type", "types that TensorRT does not have", lacking_types});
  rules.push_back({"TRT9-double", "DOUBLE, which becomes FLOAT", doubles});
  rules.push_back({"TRT10-bytes", "UINT8 inside of the network", bytes_inside});
  rules.push_back({"TRT11-int64", "inputs of INT64", wide_integers});
  rules.push_back({"TRT12-mixed-types", "operands of different float types", mixed_floats});
}

}  // namespace vernier
