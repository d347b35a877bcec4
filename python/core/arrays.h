// Arrays of Python as the memory of tensors, and tensors as arrays; nothing is copied either way.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "vernier/vernier.h"

namespace vernier::python {

// Dense memory. The array that it belongs to lives as long as this.
struct ArrayMemory {
  ElementType type;
  std::vector<int64_t> dims;
  void* data;
  std::string device;  // that of an engine which has it: "cpu", "cuda:0"
  nanobind::ndarray<nanobind::ro> keeps_alive;
};

enum class Access : uint8_t { kRead, kWrite };

// Gives the memory of anything that numpy or DLPack know, for the input or output `name`. Throws kUnsupported
// for strided memory, devices that no engine has and element types without a name in ONNX, kUsage for what is
// no array, or cannot be written.
ArrayMemory memory_of(nanobind::handle array, const char* name, Access access);

// Arrays on the memory of `view`, which lives as long as `owner`: of numpy (with the element types of
// ml_dtypes; throws kUnsupported for memory of a device), or an object with __dlpack__.
nanobind::object numpy_array(const TensorView& view, nanobind::handle owner);
nanobind::object dlpack_array(const TensorView& view, nanobind::handle owner);
// The size of an element in memory. Throws kUnsupported for strings.
size_t bytes_of(ElementType type);
// The number and type of the device of __dlpack_device__: (2, 1) for "cuda:1".
std::pair<int, int> dlpack_device(std::string_view device);

}  // namespace vernier::python
