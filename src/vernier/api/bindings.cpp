#include "vernier/api/bindings.h"

#include <cstring>
#include <numeric>

#include "vernier/exec/bind_inputs.h"
#include "vernier/tensor/fit_rank.h"

namespace vernier::api {

namespace {

std::optional<size_t> find(const std::vector<Value*>& values, std::string_view name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const Value* value) { return value->name == name; });
  if (found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

Error unknown_output(std::string_view name) {
  return bad_input("the model has no output '{}'", name).advise("names must match exactly");
}

std::string cache_name(std::string_view past) {
  return fmt::format("the cache of '{}'", past);
}

}  // namespace

Bindings::Bindings(const Engine& engine)
    : engine_(engine),
      graph_(engine.graph()),
      inputs_(graph_.inputs.size()),
      bound_(graph_.inputs.size()),
      outputs_(graph_.outputs.size()),
      input_devices_(graph_.inputs.size(), host_of_engine()),
      output_devices_(graph_.outputs.size(), host_of_engine()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (graph_.inputs[i]->is_constant()) inputs_[i] = *graph_.inputs[i]->constant;
  }
}

std::vector<MemoryBinding> Bindings::bindings() const {
  std::vector<MemoryBinding> all;
  for (const Cache& cache : caches_) all.push_back(cache.binding);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (input_devices_[i].number != kHost) all.push_back({.input = i, .device = input_devices_[i].number});
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (output_devices_[i].number != kHost) all.push_back({.output = i, .device = output_devices_[i].number});
  }
  return all;
}

Memory Bindings::memory_of(size_t input) const {
  const Tensor& tensor = inputs_[input].tensor;
  for (const Cache& cache : caches_) {
    if (cache.binding.input == input) return {tensor.type(), cache.dims, tensor.raw(), {}};
  }
  return {tensor.type(), tensor.dims(), tensor.raw(), {}};
}

// Outputs and caches may lie in no memory that is bound already; inputs may share theirs.
void Bindings::require_apart(const std::string& what, const Memory& memory, bool writes,
                             std::optional<size_t> input, std::optional<size_t> output) const {
  const auto refuse = [&](const char* kind, const std::string& other) {
    return bad_input("{} overlaps the memory of {} '{}'", what, kind, other).advise("bind memory of its own");
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const OutputMemory& other = outputs_[i];
    if (other.given() && i != output && overlap(memory, {other.element, other.dims, other.data, {}}))
      throw refuse("output", graph_.outputs[i]->name);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool is_cache = std::any_of(caches_.begin(), caches_.end(),
                                      [&](const Cache& cache) { return cache.binding.input == i; });
    if (!bound_[i] || i == input || !(writes || is_cache)) continue;
    if (overlap(memory, memory_of(i))) throw refuse("input", graph_.inputs[i]->name);
  }
}

void Bindings::bind_input(std::string_view name, const Memory& memory) {
  const auto index = find(graph_.inputs, name);
  if (!index) throw unknown_input(std::string(name));
  const std::string what = fmt::format("input '{}'", name);
  const ValueType& type = graph_.inputs[*index]->type;
  const std::optional<Dims> dims = type.is_tensor() ? dims_of_rank(memory.dims, type.tensor) : std::nullopt;
  // One element has no strides.
  const Memory fitted = dims ? Memory{memory.element, *dims, memory.data, {}, memory.device} : memory;
  require_memory(what, fitted, type);
  require_place(engine_, what, fitted);
  require_apart(what, fitted, false, index, std::nullopt);
  forget_cache(index, std::nullopt);
  inputs_[*index] = Tensor::borrow(fitted.element, fitted.dims, fitted.data, nullptr);
  input_devices_[*index] = memory.device;
  bound_[*index] = true;
}

void Bindings::bind_output(std::string_view name, const Memory& memory) {
  const auto index = find(graph_.outputs, name);
  if (!index) throw unknown_output(name);
  const std::string what = fmt::format("output '{}'", name);
  require_memory(what, memory, graph_.outputs[*index]->type);
  require_writable(what, memory);
  require_place(engine_, what, memory);
  require_apart(what, memory, true, std::nullopt, index);
  forget_cache(std::nullopt, index);
  outputs_[*index] = {memory.element, memory.dims, const_cast<void*>(memory.data)};
  output_devices_[*index] = memory.device;
}

void Bindings::unbind(std::string_view name) {
  const auto input = find(graph_.inputs, name), output = find(graph_.outputs, name);
  if (!input && !output)
    throw bad_input("the model has no input or output '{}'", name).advise("names must match exactly");
  forget_cache(input, output);
  if (output) release_output(*output);
  if (input) release_input(*input);
}

void Bindings::release_input(size_t input) {
  const Value& value = *graph_.inputs[input];
  inputs_[input] = value.is_constant() ? Datum(*value.constant) : Datum();
  input_devices_[input] = host_of_engine();
  bound_[input] = false;
}

void Bindings::release_output(size_t output) {
  outputs_[output] = {};
  output_devices_[output] = host_of_engine();
}

// A cache is unbound as a whole.
void Bindings::forget_cache(std::optional<size_t> input, std::optional<size_t> output) {
  for (size_t i = caches_.size(); i-- > 0;) {
    const MemoryBinding& binding = caches_[i].binding;
    if (binding.input != input && binding.output != output) continue;
    release_input(binding.input);
    caches_.erase(caches_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

MemoryBinding Bindings::checked_cache(std::string_view past, std::string_view present, const Memory& memory,
                                      int64_t rows) const {
  const auto input = find(graph_.inputs, past), output = find(graph_.outputs, present);
  if (!input) throw unknown_input(std::string(past));
  if (!output) throw unknown_output(present);
  const std::string what = cache_name(past);
  const ValueType& type = graph_.inputs[*input]->type;
  if (!type.is_tensor()) throw unsupported("{} is {}: only tensors can be bound", what, type.text());
  if (memory.dims.size() < 2) throw bad_input("{} is of rank {}: it has no rows", what, memory.dims.size());
  const int64_t capacity = memory.dims[memory.dims.size() - 2];
  if (rows < 0 || rows > capacity)
    throw bad_input("{} has room for {} rows, not for {}", what, capacity, rows);
  // The model says nothing of how much memory there is.
  Dims dims = memory.dims;
  dims[dims.size() - 2] = rows;
  require_tensor_type(what, memory.element, dims, type.tensor);
  require_sizes(what, memory, ValueType::of(memory.element, to_shape(memory.dims)));
  require_writable(what, memory);
  return {*input, *output, capacity, memory.device.number};
}

void Bindings::add_cache(const MemoryBinding& cache, const Memory& memory, int64_t rows,
                         std::unique_ptr<ResidentCache> kept) {
  Cache made{cache, memory.dims, memory.device.device, std::move(kept)};
  caches_.reserve(caches_.size() + 1);
  forget_cache(cache.input, cache.output);
  release_output(cache.output);
  release_input(cache.input);
  inputs_[cache.input] = Tensor::borrow(memory.element, memory.dims, memory.data, nullptr);
  bound_[cache.input] = true;
  caches_.push_back(std::move(made));
  set_rows(caches_.back(), rows);
}

void Bindings::bind_cache(std::string_view past, std::string_view present, const Memory& memory,
                          int64_t rows) {
  const MemoryBinding cache = checked_cache(past, present, memory, rows);
  require_memory(cache_name(past), memory, ValueType::of(memory.element, to_shape(memory.dims)));
  require_place(engine_, cache_name(past), memory);
  require_apart(cache_name(past), memory, true, cache.input, cache.output);
  add_cache(cache, memory, rows, nullptr);
}

void Bindings::keep_cache(std::string_view past, std::string_view present, const Memory& memory) {
  const MemoryBinding cache = checked_cache(past, present, memory, 0);
  auto kept = std::make_unique<ResidentCache>(*memory.device.device, memory.element, memory.dims);
  const Memory own{memory.element, memory.dims, kept->address(), {}, memory.device};
  add_cache(cache, own, 0, std::move(kept));
}

void Bindings::read_cache(std::string_view past, void* data, size_t bytes) const {
  const Tensor rows = rows_of(cache_of(past));
  if (bytes != rows.byte_size())
    throw bad_input("{} holds {}, which is {} bytes, not {}", cache_name(past), dims_text(rows.dims()),
                    rows.byte_size(), bytes);
  if (bytes > 0) std::memcpy(data, rows.raw(), bytes);
}

Tensor Bindings::rows_of(const Cache& cache) const {
  const Tensor& rows = inputs_[cache.binding.input].tensor;
  return dense_rows(*cache.device, rows.type(), rows.dims(), cache.binding.capacity, rows.raw());
}

size_t Bindings::kept_bytes() const {
  return std::accumulate(caches_.begin(), caches_.end(), size_t{0}, [](size_t bytes, const Cache& cache) {
    return bytes + (cache.kept == nullptr ? 0 : cache.kept->bytes());
  });
}

const Bindings::Cache& Bindings::cache_of(std::string_view past) const {
  for (const Cache& cache : caches_) {
    if (graph_.inputs[cache.binding.input]->name == past) return cache;
  }
  throw bad_input("'{}' is bound to no cache", past);
}

int64_t Bindings::cache_rows(std::string_view past) const {
  const Dims& dims = inputs_[cache_of(past).binding.input].tensor.dims();
  return dims[dims.size() - 2];
}

void Bindings::set_cache_rows(std::string_view past, int64_t rows) {
  const Cache& cache = cache_of(past);
  if (rows < 0 || rows > cache.binding.capacity)
    throw bad_input("the cache of '{}' has room for {} rows, not for {}", past, cache.binding.capacity, rows);
  set_rows(cache, rows);
}

void Bindings::take_cache_rows(std::span<const int64_t> rows) {
  for (size_t i = 0; i < caches_.size(); ++i) set_rows(caches_[i], rows[i]);
}

void Bindings::set_rows(const Cache& cache, int64_t rows) {
  Datum& input = inputs_[cache.binding.input];
  Dims dims = cache.dims;
  dims[dims.size() - 2] = rows;
  input = Tensor::borrow(input.tensor.type(), dims, input.tensor.raw(), nullptr);
}

void Bindings::require_inputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!bound_[i] && !graph_.inputs[i]->is_constant()) throw missing_input(*graph_.inputs[i]);
  }
}

Datum Bindings::on_host(size_t input) const {
  if (input_devices_[input].number == kHost) return inputs_[input];
  const Tensor& there = inputs_[input].tensor;
  Tensor copy(there.type(), there.dims());
  input_devices_[input].device->copy(there.raw(), copy.mutable_raw(), copy.byte_size());
  return copy;
}

NamedData Bindings::named_inputs() const {
  NamedData named;
  for (size_t i = 0; i < inputs_.size(); ++i) named[graph_.inputs[i]->name] = on_host(i);
  for (const Cache& cache : caches_) named[graph_.inputs[cache.binding.input]->name] = rows_of(cache);
  return named;
}

}  // namespace vernier::api
