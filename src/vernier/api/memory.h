// Memory of an application, and the checks before a session is bound to it. `what` names the input, output or
// cache in their messages.
#pragma once

#include "vernier/engine/engine_device.h"

namespace vernier::api {

// As an application describes it; what this refers to outlives it.
struct Memory {
  ElementType element;
  const Dims& dims;  // in elements
  const void* data;
  std::span<const int64_t> byte_strides;  // empty: dense
  EngineDevice device = host_of_engine();
};

// Throws bad_input for sizes or an element type that `type` does not take, unsupported for what is no tensor.
void require_sizes(const std::string& what, const Memory& memory, const ValueType& type);
// The same, and throws bad_input for null or misaligned pointers, unsupported for strides.
void require_memory(const std::string& what, const Memory& memory, const ValueType& type);
// Throws unsupported for strings.
void require_writable(const std::string& what, const Memory& memory);
// Throws bad_input unless the memory begins in that of its device, aligned as kDeviceAlignment says.
void require_place(const Engine& engine, const std::string& what, const Memory& memory);

bool overlap(const Memory& a, const Memory& b);

}  // namespace vernier::api
