#include "vernier/exec/bind_inputs.h"

#include "vernier/tensor/fit_rank.h"

namespace vernier {

void require_type(const std::string& input, const Datum& datum, const ValueType& type) {
  if (type.kind == ValueType::Kind::kOptional && datum.kind == Datum::Kind::kNone) return;
  if (type.kind == ValueType::Kind::kOptional) return require_type(input, datum, *type.element);
  if (type.kind == ValueType::Kind::kMap) datum.as_map();
  if (type.has_parts()) {
    const auto& parts = datum.as_sequence();
    for (size_t i = 0; i < parts.size(); ++i) require_type(input, parts[i], type.part(i));
    return;
  }
  const Tensor& tensor = datum.as_tensor();
  require_tensor_type("input '" + input + "'", tensor.type(), tensor.dims(), type.tensor);
}

void require_tensor_type(const std::string& what, ElementType element, const Dims& dims,
                         const TensorType& type) {
  const auto refuse = [&] {
    return bad_input("{} must be {}, but is {}{}", what, type.text(), element_type_short_name(element),
                     dims_text(dims))
        .advise("convert the data, it is not reinterpreted");
  };
  if (type.element != ElementType::kUndefined && element != type.element) throw refuse();
  if (!type.shape) return;
  const Shape& shape = *type.shape;
  if (shape.size() != dims.size()) throw refuse();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant() && *shape[i].constant() != dims[i]) throw refuse();
  }
}

Datum of_declared_rank(const Datum& datum, const ValueType& type) {
  if (!datum.is_tensor() || !type.is_tensor()) return datum;
  const auto dims = dims_of_rank(datum.tensor.dims(), type.tensor);
  return dims ? Datum(datum.tensor.reshaped(*dims)) : datum;
}

Error missing_input(const Value& input) {
  return bad_input("input '{}' ({}) is not given", input.name, input.type.text())
      .advise("add it to the data");
}

Error unknown_input(const std::string& name) {
  return bad_input("the model has no input '{}'", name)
      .advise("names must match exactly; inputs with a default are constants of an engine");
}

std::vector<Datum> bind_inputs(const Graph& graph, const NamedData& inputs) {
  std::vector<Datum> ordered;
  size_t taken = 0;
  for (const Value* input : graph.inputs) {
    const auto found = inputs.find(input->name);
    if (found != inputs.end()) {
      ordered.push_back(of_declared_rank(found->second, input->type));
      require_type(input->name, ordered.back(), input->type);
      ++taken;
    } else if (input->is_constant()) {
      ordered.push_back(*input->constant);
    } else {
      throw missing_input(*input);
    }
  }
  if (taken == inputs.size()) return ordered;
  for (const auto& given : inputs) {
    const bool known = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                   [&](const Value* input) { return input->name == given.first; });
    if (!known) throw unknown_input(given.first);
  }
  return ordered;
}

}  // namespace vernier
