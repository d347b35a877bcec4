#include "vernier/exec/bind_inputs.h"

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
  const auto refuse = [&] {
    const std::string have = std::string(element_type_short_name(tensor.type())) + dims_text(tensor.dims());
    return bad_input("input '{}' must be {}, but is {}", input, type.text(), have)
        .advise("convert the data, it is not reinterpreted");
  };
  if (type.tensor.element != ElementType::kUndefined && tensor.type() != type.tensor.element) throw refuse();
  if (!type.tensor.shape) return;
  const Shape& shape = *type.tensor.shape;
  if (static_cast<int64_t>(shape.size()) != tensor.rank()) throw refuse();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant() && *shape[i].constant() != tensor.dims()[i]) throw refuse();
  }
}

std::vector<Datum> bind_inputs(const Graph& graph, const NamedData& inputs) {
  std::vector<Datum> ordered;
  size_t taken = 0;
  for (const Value* input : graph.inputs) {
    const auto found = inputs.find(input->name);
    if (found != inputs.end()) {
      require_type(input->name, found->second, input->type);
      ordered.push_back(found->second);
      ++taken;
    } else if (input->is_constant()) {
      ordered.push_back(*input->constant);
    } else {
      throw bad_input("input '{}' ({}) is not given", input->name, input->type.text())
          .advise("add it to the data");
    }
  }
  if (taken == inputs.size()) return ordered;
  for (const auto& given : inputs) {
    const bool known = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                   [&](const Value* input) { return input->name == given.first; });
    if (!known)
      throw bad_input("the model has no input '{}'", given.first).advise("names must match exactly");
  }
  return ordered;
}

}  // namespace vernier
