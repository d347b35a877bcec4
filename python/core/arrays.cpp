#include "arrays.h"

#include <array>
#include <optional>
#include <utility>

namespace nb = nanobind;

namespace vernier::python {

namespace {

using Code = nb::dlpack::dtype_code;

struct Row {
  ElementType type;
  Code code;
  uint8_t bits;       // of an element in memory
  bool numpy_has_it;  // else ml_dtypes does
};

constexpr Row kTypes[] = {
    {ElementType::kFloat, Code::Float, 32, true},
    {ElementType::kDouble, Code::Float, 64, true},
    {ElementType::kFloat16, Code::Float, 16, true},
    {ElementType::kInt64, Code::Int, 64, true},
    {ElementType::kInt32, Code::Int, 32, true},
    {ElementType::kInt16, Code::Int, 16, true},
    {ElementType::kInt8, Code::Int, 8, true},
    {ElementType::kUint64, Code::UInt, 64, true},
    {ElementType::kUint32, Code::UInt, 32, true},
    {ElementType::kUint16, Code::UInt, 16, true},
    {ElementType::kUint8, Code::UInt, 8, true},
    {ElementType::kBool, Code::Bool, 8, true},
    {ElementType::kComplex64, Code::Complex, 64, true},
    {ElementType::kComplex128, Code::Complex, 128, true},
    {ElementType::kBFloat16, Code::Bfloat, 16, false},
    {ElementType::kFloat8E4M3FN, Code::Float8_E4M3FN, 8, false},
    {ElementType::kFloat8E4M3FNUZ, Code::Float8_E4M3FNUZ, 8, false},
    {ElementType::kFloat8E5M2, Code::Float8_E5M2, 8, false},
    {ElementType::kFloat8E5M2FNUZ, Code::Float8_E5M2FNUZ, 8, false},
    {ElementType::kFloat8E8M0, Code::Float8_E8M0FNU, 8, false},
    // One byte an element, as ml_dtypes has them, too; DLPack packs them, and so has no name for these.
    {ElementType::kInt4, Code::Int, 8, false},
    {ElementType::kUint4, Code::UInt, 8, false},
    {ElementType::kInt2, Code::Int, 8, false},
    {ElementType::kUint2, Code::UInt, 8, false},
    {ElementType::kFloat4E2M1, Code::UInt, 8, false},
};

std::optional<ElementType> type_of(const nb::dlpack::dtype& dtype) {
  for (const Row& row : kTypes) {
    if (static_cast<uint8_t>(row.code) == dtype.code && row.bits == dtype.bits && dtype.lanes == 1)
      return row.type;
  }
  return std::nullopt;
}

const Row& row_of(ElementType type) {
  for (const Row& row : kTypes) {
    if (row.type == type) return row;
  }
  throw Error(ErrorCode::kUnsupported, "an output of strings cannot be handed to Python yet");
}

// Functions of vernier_engine/_types.py.
nb::object function(const char* name) {
  return nb::module_::import_("vernier_engine._types").attr(name);
}

Error refused(ErrorCode code, const char* name, const std::string& why) {
  return Error(code, std::string("'") + name + "' " + why);
}

void require_dense(const nb::ndarray<nb::ro>& array, const char* name) {
  int64_t dense = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) == 0) return;
    if (array.shape(i) != 1 && array.stride(i) != dense)
      throw refused(
          ErrorCode::kUnsupported, name,
          "lies in strided memory, which would have to be copied (give numpy.ascontiguousarray of it, or "
          "contiguous() of a torch tensor)");
    dense *= static_cast<int64_t>(array.shape(i));
  }
}

// Devices of DLPack that engines have. The simulated accelerator is one that DLPack does not know.
constexpr int kExtension = 12;
constexpr std::pair<std::string_view, int> kDevices[] = {{"cuda", nb::device::cuda::value},
                                                         {"simulated", kExtension}};

std::optional<std::string> device_name(int type, int id) {
  if (type == nb::device::cpu::value || type == nb::device::cuda_host::value) return "cpu";
  for (const auto& [name, number] : kDevices) {
    if (number == type) return std::string(name) + ":" + std::to_string(id);
  }
  return std::nullopt;
}

bool import(nb::handle array, Access access, nb::ndarray<nb::ro>& imported) {
  if (access == Access::kRead) return nb::try_cast(array, imported, false);
  nb::ndarray<> writable;
  if (!nb::try_cast(array, writable, false)) return false;
  imported = nb::ndarray<nb::ro>(writable.handle());
  return true;
}

nb::dlpack::dtype dtype_of(Code code, uint8_t bits) {
  return {static_cast<uint8_t>(code), bits, 1};
}

struct Sizes {
  std::vector<size_t> dims;
  void* data;

  explicit Sizes(const TensorView& view)
      : dims(view.dims().begin(), view.dims().end()), data(const_cast<void*>(view.data())) {
    static char nothing;  // an array of no elements wants an address all the same
    if (data == nullptr) data = &nothing;
  }
};

}  // namespace

ArrayMemory memory_of(nb::handle array, const char* name, Access access) {
  ArrayMemory memory{};
  std::optional<ElementType> type;
  if (import(array, access, memory.keeps_alive)) {
    type = type_of(memory.keeps_alive.dtype());
  } else {
    // Element types of ml_dtypes come as their bits; what is no array is told.
    const auto bits = nb::cast<nb::tuple>(function("bits_of")(array, name, access == Access::kWrite));
    if (!import(bits[0], access, memory.keeps_alive)) throw refused(ErrorCode::kUsage, name, "is no array");
    type = static_cast<ElementType>(nb::cast<int>(bits[1]));
  }
  const auto& held = memory.keeps_alive;
  const auto device = device_name(held.device_type(), held.device_id());
  if (!device)
    throw refused(ErrorCode::kUnsupported, name,
                  "lies in memory of a device that no engine has (give cpu() of it)");
  memory.device = *device;
  if (!type) throw refused(ErrorCode::kUnsupported, name, "has an element type that ONNX does not have");
  require_dense(held, name);
  memory.type = *type;
  memory.data = const_cast<void*>(held.data());
  memory.dims.reserve(held.ndim());
  for (size_t i = 0; i < held.ndim(); ++i) memory.dims.push_back(static_cast<int64_t>(held.shape(i)));
  return memory;
}

nb::object numpy_array(const TensorView& view, nb::handle owner) {
  if (view.device() != std::string_view("cpu"))
    throw Error(ErrorCode::kUnsupported, std::string("a tensor in memory of ") + view.device() +
                                             " is no array of numpy: take dlpack() of it");
  const Row& row = row_of(view.type());
  const Sizes sizes(view);
  const nb::ndarray<nb::numpy> array(
      sizes.data, sizes.dims.size(), sizes.dims.data(), owner, nullptr,
      row.numpy_has_it ? dtype_of(row.code, row.bits) : dtype_of(Code::UInt, row.bits));
  nb::object made = nb::cast(array);
  return row.numpy_has_it ? made : function("typed")(made, static_cast<int>(view.type()));
}

nb::object dlpack_array(const TensorView& view, nb::handle owner) {
  const Row& row = row_of(view.type());
  const Sizes sizes(view);
  const auto [type, id] = dlpack_device(view.device());
  return nb::cast(nb::ndarray<nb::array_api>(sizes.data, sizes.dims.size(), sizes.dims.data(), owner, nullptr,
                                             dtype_of(row.code, row.bits), type, id));
}

size_t bytes_of(ElementType type) {
  constexpr size_t kBits = 8;
  return row_of(type).bits / kBits;
}

std::pair<int, int> dlpack_device(std::string_view device) {
  const size_t colon = device.find(':');
  for (const auto& [name, type] : kDevices) {
    if (name == device.substr(0, colon)) return {type, std::stoi(std::string(device.substr(colon + 1)))};
  }
  return {nb::device::cpu::value, 0};
}

}  // namespace vernier::python
