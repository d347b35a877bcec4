#include "vernier/data/input_shapes.h"

#include <algorithm>
#include <charconv>

#include "vernier/tensor/fit_rank.h"

namespace vernier {

namespace {

// "1x3x640"; nothing if it is no such list. An empty text is a scalar.
std::optional<Dims> parse_dims(std::string_view text) {
  Dims dims;
  while (!text.empty()) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    dims.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text[0] != 'x' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return dims;
}

// Parts at commas; a part without sizes belongs to the name in the next one.
std::vector<std::pair<std::string, Dims>> parse_argument(const std::string& argument) {
  std::vector<std::pair<std::string, Dims>> result;
  std::string pending;
  for (size_t at = 0; at <= argument.size();) {
    const size_t comma = std::min(argument.find(',', at), argument.size());
    const std::string part = pending + argument.substr(at, comma - at);
    at = comma + 1;
    const size_t colon = part.rfind(':');
    const auto dims =
        colon == std::string::npos ? std::nullopt : parse_dims(std::string_view(part).substr(colon + 1));
    pending = dims ? "" : part + ",";
    if (dims) result.emplace_back(part.substr(0, colon), *dims);
  }
  if (!pending.empty()) {
    throw usage_error("'{}' are no shapes", argument).advise("write INPUT:SIZExSIZE…, e.g. x:1x3x640x480");
  }
  return result;
}

std::string names_of(const std::vector<Value*>& inputs) {
  std::string names;
  for (const Value* input : inputs) names += (names.empty() ? "'" : ", '") + input->name + "'";
  return names;
}

void check_datum(const std::string& input, Datum& datum, const ValueType& type, SymbolBindings& bindings,
                 std::vector<std::string>& notes) {
  if (type.kind == ValueType::Kind::kOptional) {
    if (datum.kind != Datum::Kind::kNone) check_datum(input, datum, *type.element, bindings, notes);
    return;
  }
  if (type.has_parts()) {
    if (datum.kind != Datum::Kind::kSequence)
      throw bad_input("input '{}' must be {}, but no sequence is given", input, type.text());
    // The elements of a sequence may differ in size, so each is taken for itself.
    if (type.kind == ValueType::Kind::kMap) datum.as_map();
    for (size_t i = 0; i < datum.sequence->size(); ++i) {
      SymbolBindings own;
      Datum part = (*datum.sequence)[i];
      check_datum(input, part, type.part(i), own, notes);
    }
    return;
  }
  if (!datum.is_tensor())
    throw bad_input("input '{}' must be {}, but no tensor is given", input, type.text());
  Tensor& tensor = datum.tensor;
  if (type.tensor.element != ElementType::kUndefined && tensor.type() != type.tensor.element) {
    throw bad_input("input '{}' must be {}, but is {}{}", input, type.text(),
                    element_type_short_name(tensor.type()), dims_text(tensor.dims()))
        .advise("convert the data, they are not reinterpreted");
  }
  if (const auto dims = dims_of_rank(tensor.dims(), type.tensor)) {
    notes.push_back(fmt::format("input '{}' is declared {} and given as {}", input, type.text(),
                                dims_text(tensor.dims())));
    tensor = tensor.reshaped(*dims);
  }
  if (type.tensor.shape) bindings.bind(input, *type.tensor.shape, tensor.dims());
}

// Notes sizes that are no sum, say, of others, as the model says that they are.
void add_broken_expressions(const Model& model, const NamedData& inputs, const SymbolValues& sizes,
                            std::vector<std::string>& notes) {
  for (const Value* input : model.graph->inputs) {
    const auto found = inputs.find(input->name);
    if (found == inputs.end() || !found->second.is_tensor() || !input->type.tensor.shape) continue;
    const Dims& dims = found->second.tensor.dims();
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const Dim& dim = (*input->type.tensor.shape)[axis];
      const auto promised = dim.is_symbol() ? std::nullopt : dim.evaluate(sizes);
      if (promised && *promised >= 0 && *promised != dims[axis])
        notes.push_back(fmt::format("dimension {} is {} at axis {} of input '{}', where the others make {}",
                                    dim.text(), dims[axis], axis, input->name, *promised));
    }
  }
}

}  // namespace

std::vector<InputShapes> parse_shapes(const std::vector<std::string>& arguments) {
  std::vector<InputShapes> sets;
  for (const std::string& argument : arguments) {
    for (auto& [name, dims] : parse_argument(argument)) {
      if (sets.empty() || sets.back().contains(name)) sets.emplace_back();
      sets.back().emplace(name, std::move(dims));
    }
  }
  return sets;
}

void SymbolBindings::bind(const std::string& input, const Shape& declared, const Dims& dims) {
  const auto refuse = [&](const std::string& why) {
    return bad_input("input '{}' must be {}, but is {}{}", input, shape_text(declared), dims_text(dims), why);
  };
  if (declared.size() != dims.size())
    throw refuse(fmt::format(": rank {} instead of {}", dims.size(), declared.size()));
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim& dim = declared[axis];
    if (const auto size = dim.constant(); size && *size >= 0 && *size != dims[axis]) {
      throw refuse(fmt::format(": size {} instead of {} at axis {}", dims[axis], *size, axis));
    }
    if (!dim.is_symbol()) continue;
    const auto [bound, is_new] = values_.emplace(*dim.symbols().begin(), dims[axis]);
    if (is_new) {
      sources_[dim.text()] = fmt::format("axis {} of input '{}'", axis, input);
    } else if (bound->second != dims[axis]) {
      notes_.push_back(fmt::format("dimension {} is {} at {}, but {} at axis {} of input '{}'", dim.text(),
                                   bound->second, sources_[dim.text()], dims[axis], axis, input));
    }
  }
}

std::vector<const Value*> required_inputs(const Model& model) {
  std::vector<const Value*> inputs;
  for (const Value* input : model.graph->inputs) {
    if (!input->is_constant()) inputs.push_back(input);
  }
  return inputs;
}

const Value& find_input(const Model& model, const std::string& name) {
  for (const Value* input : model.graph->inputs) {
    if (input->name == name) return *input;
  }
  throw bad_input("the model has no input '{}'; it has {}", name, names_of(model.graph->inputs))
      .advise("names must match exactly");
}

SymbolValues symbols_of(const Model& model, const InputShapes& shapes) {
  SymbolBindings bindings;
  for (const auto& [name, dims] : shapes) {
    const ValueType& type = find_input(model, name).type;
    if (!type.is_tensor()) throw bad_input("input '{}' is {}, which has no shape", name, type.text());
    if (type.tensor.shape) bindings.bind(name, *type.tensor.shape, dims);
  }
  return bindings.values();
}

Dims input_dims(const Value& input, const SymbolValues& symbols, const InputShapes& shapes) {
  if (const auto given = shapes.find(input.name); given != shapes.end()) return given->second;
  const auto unknown = [&](const std::string& what) {
    return bad_input("input '{}' is {}: {} is not known", input.name, input.type.text(), what)
        .advise(fmt::format("give its sizes, e.g. --shapes '{}:1x3'", input.name));
  };
  if (!input.type.tensor.shape) throw unknown("its rank");
  Dims dims;
  for (const Dim& dim : *input.type.tensor.shape) {
    const auto size = dim.evaluate(symbols);
    if (!size || *size < 0) throw unknown(dim.text());
    dims.push_back(*size);
  }
  return dims;
}

std::vector<std::string> fit_inputs(const Model& model, NamedData& inputs) {
  for (const auto& [name, datum] : inputs) find_input(model, name);
  SymbolBindings bindings;
  std::vector<std::string> notes;
  for (const Value* input : model.graph->inputs) {
    const auto found = inputs.find(input->name);
    if (found != inputs.end()) {
      check_datum(input->name, found->second, input->type, bindings, notes);
    } else if (!input->is_constant()) {
      throw bad_input("input '{}' ({}) is not given", input->name, input->type.text())
          .advise("add it to the data");
    }
  }
  notes.insert(notes.end(), bindings.notes().begin(), bindings.notes().end());
  add_broken_expressions(model, inputs, bindings.values(), notes);
  return notes;
}

}  // namespace vernier
