#include "vernier/api/memory.h"

#include <algorithm>

#include "vernier/exec/bind_inputs.h"

namespace vernier::api {

namespace {

size_t bytes_of(const Memory& memory) {
  return static_cast<size_t>(element_count(memory.dims)) * element_size(memory.element);
}

size_t alignment_of(ElementType element) {
  return visit_element_type(element, []<class T>(TypeTag<T>) { return alignof(T); });
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

}  // namespace

void require_sizes(const std::string& what, const Memory& memory, const ValueType& type) {
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
}

void require_memory(const std::string& what, const Memory& memory, const ValueType& type) {
  require_sizes(what, memory, type);
  const int64_t count = element_count(memory.dims);
  if (count > 0 && memory.data == nullptr) throw bad_input("{} is bound to a null pointer", what);
  if (reinterpret_cast<uintptr_t>(memory.data) % alignment_of(memory.element) != 0)
    throw bad_input("{} is bound to memory that is not aligned to its elements", what);
  require_dense(what, memory);
}

void require_writable(const std::string& what, const Memory& memory) {
  if (memory.element == ElementType::kString)
    throw unsupported("{} holds strings, which cannot be written to bound memory", what)
        .advise("leave it unbound, the run makes memory for it");
}

void require_place(const Engine& engine, const std::string& what, const Memory& memory) {
  if (element_count(memory.dims) == 0) return;
  if (memory.device.number == kHost) {
    const auto device = device_reaching(engine, memory.data);
    if (!device) return;
    throw bad_input("{} is bound to memory of {}, as if it were of the CPU", what, device->name)
        .advise("name the device with the memory");
  }
  if (!memory.device.device->reaches(memory.data, bytes_of(memory)))
    throw bad_input("{} is bound to {} bytes of memory that {} does not reach", what, bytes_of(memory),
                    memory.device.name);
  if (reinterpret_cast<uintptr_t>(memory.data) % kDeviceAlignment != 0)
    throw bad_input("{} is bound to memory of {} that is not aligned to {} bytes", what, memory.device.name,
                    kDeviceAlignment);
}

bool overlap(const Memory& a, const Memory& b) {
  const auto x = reinterpret_cast<uintptr_t>(a.data), y = reinterpret_cast<uintptr_t>(b.data);
  const size_t a_bytes = bytes_of(a), b_bytes = bytes_of(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace vernier::api
