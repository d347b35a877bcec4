#include "vernier/api/bindings.h"

#include "vernier/exec/bind_inputs.h"
#include "vernier/tensor/fit_rank.h"

namespace vernier::api {

namespace {

size_t bytes_of(ElementType element, const Dims& dims) {
  return static_cast<size_t>(element_count(dims)) * element_size(element);
}

size_t alignment_of(ElementType element) {
  return visit_element_type(element, []<class T>(TypeTag<T>) { return alignof(T); });
}

std::optional<size_t> find(const std::vector<Value*>& values, std::string_view name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const Value* value) { return value->name == name; });
  if (found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

void require_dense(const std::string& what, const Memory& memory) {
  if (memory.byte_strides.empty()) return;
  bool dense = memory.byte_strides.size() == memory.dims.size();
  auto step = static_cast<int64_t>(element_size(memory.element));
  for (size_t i = memory.dims.size(); dense && i-- > 0; step *= memory.dims[i])
    dense = memory.dims[i] <= 1 || memory.byte_strides[i] == step;
  if (!dense && element_count(memory.dims) > 0)
    throw unsupported("{} is not dense: strides are not supported", what).advise("copy it into dense memory");
}

// What holds for inputs and outputs alike.
void require_memory(const std::string& what, const Memory& memory, const ValueType& type) {
  if (!type.is_tensor()) throw unsupported("{} is {}: only tensors can be bound", what, type.text());
  if (memory.element == ElementType::kUndefined || static_cast<int>(memory.element) >= kElementTypeCount)
    throw bad_input("{}: {} is no element type", what, static_cast<int>(memory.element));
  if (std::any_of(memory.dims.begin(), memory.dims.end(), [](int64_t size) { return size < 0; }))
    throw bad_input("{} has a negative size: {}", what, dims_text(memory.dims));
  require_tensor_type(what, memory.element, memory.dims, type.tensor);
  size_t bytes = 0;
  const auto count = static_cast<size_t>(element_count(memory.dims));
  if (__builtin_mul_overflow(count, element_size(memory.element), &bytes))
    throw bad_input("{} of {} does not fit into memory", what, dims_text(memory.dims));
  if (count > 0 && memory.data == nullptr) throw bad_input("{} is bound to a null pointer", what);
  if (reinterpret_cast<uintptr_t>(memory.data) % alignment_of(memory.element) != 0)
    throw bad_input("{} is bound to memory that is not aligned to its elements", what);
  require_dense(what, memory);
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

Bindings::Bindings(const Graph& graph)
    : graph_(graph),
      inputs_(graph.inputs.size()),
      bound_(graph.inputs.size()),
      outputs_(graph.outputs.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (graph.inputs[i]->is_constant()) inputs_[i] = *graph.inputs[i]->constant;
  }
}

// Outputs may lie in no memory that is bound already; inputs may share theirs.
void Bindings::require_apart(const std::string& what, const Memory& memory,
                             const OutputMemory* instead_of) const {
  const size_t bytes = bytes_of(memory.element, memory.dims);
  const auto refuse = [&](const char* kind, const std::string& other) {
    return bad_input("{} overlaps the memory of {} '{}'", what, kind, other).advise("bind memory of its own");
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const OutputMemory& other = outputs_[i];
    if (other.given() && &other != instead_of &&
        overlap(memory.data, bytes, other.data, bytes_of(other.element, other.dims)))
      throw refuse("output", graph_.outputs[i]->name);
  }
  if (instead_of == nullptr) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (bound_[i] && overlap(memory.data, bytes, inputs_[i].tensor.raw(), inputs_[i].tensor.byte_size()))
      throw refuse("input", graph_.inputs[i]->name);
  }
}

void Bindings::bind_input(std::string_view name, const Memory& memory) {
  const auto index = find(graph_.inputs, name);
  if (!index) throw unknown_input(std::string(name));
  const std::string what = fmt::format("input '{}'", name);
  const ValueType& type = graph_.inputs[*index]->type;
  const std::optional<Dims> dims = type.is_tensor() ? dims_of_rank(memory.dims, type.tensor) : std::nullopt;
  // One element has no strides.
  const Memory fitted = dims ? Memory{memory.element, *dims, memory.data, {}} : memory;
  require_memory(what, fitted, type);
  require_apart(what, fitted, nullptr);
  inputs_[*index] = Tensor::borrow(fitted.element, fitted.dims, fitted.data, nullptr);
  bound_[*index] = true;
}

void Bindings::bind_output(std::string_view name, const Memory& memory) {
  const auto index = find(graph_.outputs, name);
  if (!index) throw bad_input("the model has no output '{}'", name).advise("names must match exactly");
  const std::string what = fmt::format("output '{}'", name);
  require_memory(what, memory, graph_.outputs[*index]->type);
  if (memory.element == ElementType::kString)
    throw unsupported("{} holds strings, which cannot be written to bound memory", what)
        .advise("leave it unbound, the run makes memory for it");
  require_apart(what, memory, &outputs_[*index]);
  outputs_[*index] = {memory.element, memory.dims, const_cast<void*>(memory.data)};
}

void Bindings::unbind(std::string_view name) {
  const auto input = find(graph_.inputs, name), output = find(graph_.outputs, name);
  if (!input && !output)
    throw bad_input("the model has no input or output '{}'", name).advise("names must match exactly");
  if (output) outputs_[*output] = {};
  if (!input) return;
  const Value& value = *graph_.inputs[*input];
  inputs_[*input] = value.is_constant() ? Datum(*value.constant) : Datum();
  bound_[*input] = false;
}

void Bindings::require_inputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!bound_[i] && !graph_.inputs[i]->is_constant()) throw missing_input(*graph_.inputs[i]);
  }
}

NamedData Bindings::named_inputs() const {
  NamedData named;
  for (size_t i = 0; i < inputs_.size(); ++i) named[graph_.inputs[i]->name] = inputs_[i];
  return named;
}

}  // namespace vernier::api
