// Attributes of nodes, those that a function's body takes over from its call included.
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/onnx/graph_import.h"
#include "vernier/ops/op_def.h"

namespace vernier {

const onnx::AttributeProto* GraphImporter::referred(const std::string& name, const Scope& scope,
                                                    Scope** holder) const {
  if (scope.call == nullptr) throw bad_input("attribute reference '{}' outside of a function", name);
  *holder = scope.caller;
  for (const auto& attribute : scope.call->attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    return referred(attribute.ref_attr_name(), *scope.caller, holder);
  }
  for (const auto& attribute : scope.function->attribute_proto()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// ONNX Runtime runs what has an attribute that its operator does not know, at least of operators of its own.
bool GraphImporter::is_unknown_attribute(const std::string& name, const Node& node) {
  const ops::OpDef* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr) return false;
  std::vector<std::string> known;
  for (const ops::AttributeSpec& each : def->attributes) known.push_back(each.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return false;
  notes_.push_back({"S10-unknown-attribute", node.name,
                    fmt::format("{} has no attribute '{}', which is ignored{}{}", node.op, name,
                                known.empty() ? "" : "; it has ", fmt::join(known, ", ")),
                    "remove it, or correct its name"});
  return true;
}

void GraphImporter::import_attributes(const onnx::NodeProto& proto, Node& node, Scope& scope, const Opsets&) {
  for (const auto& given : proto.attribute()) {
    if (given.name().starts_with("__")) {  // ONNX leaves such names to tools
      notes_.push_back(
          {"S7-internal-attribute", node.name,
           fmt::format("attribute '{}' is of a tool, and not of {}; it is ignored", given.name(), node.op),
           "remove it"});
      continue;
    }
    const onnx::AttributeProto* attribute = &given;
    Scope* holder = &scope;
    if (!given.ref_attr_name().empty()) {
      attribute = referred(given.ref_attr_name(), scope, &holder);
      if (attribute == nullptr) continue;  // the caller left an optional attribute out
    }
    if (attribute->type() == onnx::AttributeProto::GRAPH || attribute->has_g()) {
      node.regions.emplace_back(given.name(), import_graph(attribute->g(), holder));
      continue;
    }
    if (is_unknown_attribute(given.name(), node)) continue;
    if (attribute->graphs_size() > 0) throw unsupported("attribute '{}' is a list of graphs", given.name());
    if (!node.attributes.emplace(given.name(), attribute_of(*attribute)).second)
      throw bad_input("attribute '{}' is there twice", given.name());
  }
}

Attribute GraphImporter::attribute_of(const onnx::AttributeProto& proto) {
  using Kind = onnx::AttributeProto;
  switch (proto.type()) {
    case Kind::INT: return static_cast<int64_t>(proto.i());
    case Kind::FLOAT: return proto.f();
    case Kind::STRING: return proto.s();
    case Kind::TENSOR: return tensor_of(proto.t(), external_);
    case Kind::SPARSE_TENSOR: return dense_tensor_of(proto.sparse_tensor(), external_);
    case Kind::TYPE_PROTO: return value_type_of(proto.tp());
    case Kind::INTS: return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case Kind::FLOATS: return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case Kind::STRINGS: return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case Kind::TENSORS: {
      std::vector<Tensor> tensors;
      for (const auto& tensor : proto.tensors()) tensors.push_back(tensor_of(tensor, external_));
      return tensors;
    }
    case Kind::TYPE_PROTOS: {
      std::vector<ValueType> types;
      for (const auto& type : proto.type_protos()) types.push_back(value_type_of(type));
      return types;
    }
    // Files of IR version 1 may leave the type out; the field that is set tells.
    case Kind::UNDEFINED:
      if (proto.has_i()) return static_cast<int64_t>(proto.i());
      if (proto.has_f()) return proto.f();
      if (proto.has_s()) return proto.s();
      if (proto.has_t()) return tensor_of(proto.t(), external_);
      if (proto.ints_size() > 0) return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
      if (proto.floats_size() > 0) return std::vector<float>(proto.floats().begin(), proto.floats().end());
      if (proto.strings_size() > 0)
        return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    default: break;
  }
  throw bad_input("attribute '{}' has no value or an unknown type", proto.name());
}

}  // namespace vernier
