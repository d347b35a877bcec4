#include "shape_check.h"

namespace vernier {

namespace {

std::string op_of(const Value& value) {
  return value.producer() == nullptr ? "input" : value.producer()->op;
}

class Checker {
 public:
  Checker() { findings.runs = 1; }
  void compare(const Value& value, const Datum& datum);
  ShapeFindings findings;

 private:
  void compare_dims(const Value& value, const Shape& shape, const Dims& dims);
  void mismatch(const Value& value, std::string_view actual) {
    findings.mismatches.push_back(fmt::format("{} '{}' is inferred as {}, but is {}", op_of(value),
                                              value.name, value.type.text(), actual));
  }

  SymbolValues sizes_;
  std::map<std::string, std::string> maker_;  // of a fresh symbol: the operator at which it was met first
};

void Checker::compare(const Value& value, const Datum& datum) {
  ++findings.values;
  if (value.type.kind == ValueType::Kind::kOptional) return;
  if (value.type.is_tensor() != datum.is_tensor()) return mismatch(value, "another kind of value");
  if (!datum.is_tensor()) return;
  const auto& [element, shape] = value.type.tensor;
  if (element != datum.tensor.type()) return mismatch(value, element_type_name(datum.tensor.type()));
  if (shape)
    compare_dims(value, *shape, datum.tensor.dims());
  else
    ++findings.unknown_rank[op_of(value)];
}

void Checker::compare_dims(const Value& value, const Shape& shape, const Dims& dims) {
  if (shape.size() != dims.size()) return mismatch(value, dims_text(dims));
  std::set<std::string> makers;
  for (size_t i = 0; i < shape.size(); ++i) {
    // A symbol is bound where it is met first: at an input, or where a data-dependent size is made.
    if (shape[i].is_symbol()) sizes_.try_emplace(*shape[i].symbols().begin(), dims[i]);
    for (const auto& symbol : shape[i].symbols()) {
      if (symbol.find('?') != std::string::npos)
        makers.insert(maker_.try_emplace(symbol, op_of(value)).first->second);
    }
    const auto size = shape[i].evaluate(sizes_);
    if (size && *size != dims[i]) return mismatch(value, dims_text(dims));
  }
  for (const auto& maker : makers) ++findings.fresh[maker];
}

}  // namespace

void ShapeFindings::add(const ShapeFindings& other) {
  runs += other.runs;
  values += other.values;
  for (const auto& [op, count] : other.fresh) fresh[op] += count;
  for (const auto& [op, count] : other.unknown_rank) unknown_rank[op] += count;
  mismatches.insert(mismatches.end(), other.mismatches.begin(), other.mismatches.end());
}

ShapeFindings check_shapes(const Model& model, const std::map<std::string, Datum>& inputs) {
  Checker checker;
  for (const Value* input : model.graph->inputs) {
    if (const auto found = inputs.find(input->name); found != inputs.end())
      checker.compare(*input, found->second);
  }
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) { checker.compare(value, datum); };
  run_reference(model, inputs, options);
  return checker.findings;
}

}  // namespace vernier
