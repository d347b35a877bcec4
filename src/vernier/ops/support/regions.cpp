#include "vernier/ops/support/regions.h"

#include "vernier/ops/support/join_types.h"

namespace vernier::ops {

const Graph& require_region(const Node& node, std::string_view name) {
  if (const Graph* region = node.region(name)) return *region;
  throw bad_input("{} has no '{}'", node.op, name);
}

const Graph& require_body(const Node& node, size_t hidden) {
  const Graph& body = require_region(node, "body");
  const size_t shown = body.outputs.size() - std::min(hidden, body.outputs.size());
  if (node.outputs.size() > shown)
    throw bad_input("{} has {} outputs, but its body gives {}", node.op, node.outputs.size(), shown);
  return body;
}

std::optional<bool> known_condition(const ValueInfo& info) {
  if (info.constant && info.constant->size() == 1 && !is_float(info.constant->type()))
    return info.constant->to_ints()[0] != 0;
  if (info.dims && info.dims->size() == 1 && (*info.dims)[0].is_constant()) return (*info.dims)[0] != Dim(0);
  return std::nullopt;
}

std::vector<ValueInfo> infer_loop_body(InferContext& context, const Graph& body,
                                       std::vector<ValueInfo> inputs, Carried carried) {
  std::vector<Dim> varying;
  const MeetDims widen = [&](const Dim& now, const Dim&) {
    // A dimension that was found to vary stands for every size already; without this check a size that grows
    // with each trip would never settle.
    if (std::find(varying.begin(), varying.end(), now) != varying.end()) return now;
    return varying.emplace_back(context.fresh("carried"));
  };
  for (;;) {
    auto outputs = context.infer_region(body, inputs);
    bool settled = true;
    for (size_t i = 0; i < carried.count; ++i) {
      ValueType& type = inputs[carried.first_input + i].type;
      ValueType wider = join_types(type, outputs.at(carried.first_output + i).type, widen);
      settled = settled && wider == type;
      type = std::move(wider);
    }
    if (settled) return outputs;
  }
}

ValueType final_type(const InferContext& context, const ValueType& initial, const ValueType& carried) {
  // An optional that every trip replaces by a value is that value afterwards.
  const bool filled =
      initial.kind == ValueType::Kind::kOptional && carried.kind != initial.kind && initial.element;
  return join_types(context, filled ? *initial.element : initial, carried);
}

Dims dims_without_run(const Graph& body, const std::vector<Datum>& inputs, size_t index) {
  SymbolValues values;
  for (size_t i = 0; i < inputs.size() && i < body.inputs.size(); ++i) {
    const ValueType& type = body.inputs[i]->type;
    if (!inputs[i].is_tensor() || !type.is_tensor() || !type.tensor.shape) continue;
    const Shape& shape = *type.tensor.shape;
    for (size_t axis = 0; axis < std::min(shape.size(), inputs[i].tensor.dims().size()); ++axis) {
      if (shape[axis].is_symbol()) values[*shape[axis].symbols().begin()] = inputs[i].tensor.dims()[axis];
    }
  }
  Dims dims;
  if (const auto& shape = body.outputs.at(index)->type.tensor.shape) {
    for (const Dim& dim : *shape) dims.push_back(std::max<int64_t>(0, dim.evaluate(values).value_or(0)));
  }
  return dims;
}

}  // namespace vernier::ops
