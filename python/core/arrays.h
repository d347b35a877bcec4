// Arrays of Python as the memory of tensors, and tensors as arrays; nothing is copied either way.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "vernier/vernier.h"

namespace vernier::python {

// Dense memory of the CPU. The array that it belongs to lives as long as this.
struct ArrayMemory {
  ElementType type;
  std::vector<int64_t> dims;
  void* data;
  nanobind::ndarray<nanobind::ro> keeps_alive;
};

enum class Access : uint8_t { kRead, kWrite };

// Gives the memory of anything that numpy or DLPack know, for the input or output `name`. Throws kUnsupported
// for strided memory, other devices and element types without a name in ONNX, kUsage for what is no array, or
// cannot be written.
ArrayMemory memory_of(nanobind::handle array, const char* name, Access access);

// Arrays on the memory of `view`, which lives as long as `owner`: of numpy (with the element types of
// ml_dtypes), or an object with __dlpack__.
nanobind::object numpy_array(const TensorView& view, nanobind::handle owner);
nanobind::object dlpack_array(const TensorView& view, nanobind::handle owner);

}  // namespace vernier::python
