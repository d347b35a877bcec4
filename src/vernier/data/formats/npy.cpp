#include "vernier/data/formats/npy.h"

#include <cstring>

#include "vernier/base/file.h"
#include "vernier/data/formats/npy_parts.h"
#include "vernier/data/formats/zip.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

struct NumpyType {
  ElementType type;
  std::string_view descr;
};

constexpr NumpyType kNumpyTypes[] = {
    {ElementType::kBool, "|b1"},      {ElementType::kInt8, "|i1"},       {ElementType::kUint8, "|u1"},
    {ElementType::kInt16, "<i2"},     {ElementType::kUint16, "<u2"},     {ElementType::kInt32, "<i4"},
    {ElementType::kUint32, "<u4"},    {ElementType::kInt64, "<i8"},      {ElementType::kUint64, "<u8"},
    {ElementType::kFloat16, "<f2"},   {ElementType::kFloat, "<f4"},      {ElementType::kDouble, "<f8"},
    {ElementType::kComplex64, "<c8"}, {ElementType::kComplex128, "<c16"}};

ElementType element_type_of(const NpyHeader& header, ElementType wanted) {
  if (header.kind == 'S' || header.kind == 'U') return ElementType::kString;
  if (header.kind == 'V' || (header.kind == 'f' && header.item_size == 1)) {
    const bool has_numpy_type = std::any_of(std::begin(kNumpyTypes), std::end(kNumpyTypes),
                                            [&](const NumpyType& known) { return known.type == wanted; });
    if (wanted == ElementType::kUndefined || wanted == ElementType::kString || has_numpy_type ||
        element_size(wanted) != header.item_size) {
      throw bad_input(
          "elements of '{}' can only be read as a type that NumPy lacks (bfloat16, float8, int4, …), {}",
          header.descr,
          wanted == ElementType::kUndefined ? "but which one is not known"
                                            : fmt::format("not as {}", element_type_name(wanted)));
    }
    return wanted;
  }
  const std::string size = fmt::format("{}{}", header.kind, header.item_size);
  for (const NumpyType& known : kNumpyTypes) {
    if (known.descr.substr(1) == size) return known.type;
  }
  throw unsupported("ONNX has no element type for NumPy's '{}'", header.descr);
}

// Elements with the last axis varying fastest, from elements with the first axis varying fastest.
std::string row_major(std::span<const std::byte> from, const Dims& dims, size_t item) {
  std::string to(from.size(), '\0');
  Dims index(dims.size(), 0), strides(dims.size(), 1);
  for (size_t axis = 1; axis < dims.size(); ++axis) strides[axis] = strides[axis - 1] * dims[axis - 1];
  int64_t source = 0;
  for (size_t at = 0; at < to.size(); at += item) {
    std::memcpy(to.data() + at, from.data() + static_cast<size_t>(source) * item, item);
    for (size_t axis = dims.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < dims[axis]) break;
      source -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return to;
}

size_t swapped_unit(const NpyHeader& header) {
  switch (header.kind) {
    case 'c': return header.item_size / 2;
    case 'U': return sizeof(char32_t);
    case 'S': return 1;
    default: return header.item_size;
  }
}

Tensor decode_strings(const NpyHeader& header, std::span<const std::byte> bytes) {
  Tensor tensor(ElementType::kString, header.dims);
  size_t at = 0;
  for (std::string& text : tensor.mutable_values<std::string>()) {
    const auto item = bytes.subspan(at, header.item_size);
    text = header.kind == 'U' ? decode_utf32(item) : decode_bytes(item);
    at += header.item_size;
  }
  return tensor;
}

// One element a byte, in the low bits; the high bits of negative integers are not always set.
Tensor decode_narrow(ElementType type, const Dims& dims, std::span<const std::byte> bytes) {
  const int bits = element_bits(type);
  const int sign = is_signed_integer(type) ? 1 << (bits - 1) : 0;
  Tensor tensor(type, dims);
  auto* to = static_cast<uint8_t*>(tensor.mutable_raw());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int code = static_cast<int>(bytes[i]) & ((1 << bits) - 1);
    to[i] = static_cast<uint8_t>((code ^ sign) - sign);
  }
  return tensor;
}

std::string encode_narrow(const Tensor& tensor) {
  std::string bytes(reinterpret_cast<const char*>(tensor.raw()), tensor.byte_size());
  const int mask = (1 << element_bits(tensor.type())) - 1;
  for (char& byte : bytes) byte = static_cast<char>(byte & mask);
  return bytes;
}

}  // namespace

Tensor read_npy(std::span<const std::byte> bytes, ElementType wanted) {
  const NpyHeader header = parse_npy_header(bytes);
  const ElementType type = element_type_of(header, wanted);
  if (bytes.size() != header.file_size()) {
    throw bad_input("an npy file of '{}'{} has {} bytes, but this one has {}", header.descr,
                    dims_text(header.dims), header.file_size(), bytes.size());
  }
  std::span<const std::byte> data = bytes.subspan(header.size);
  std::string changed;
  if (header.fortran_order && header.dims.size() > 1) {
    changed = row_major(data, header.dims, header.item_size);
    data = std::as_bytes(std::span(changed));
  }
  if (const size_t unit = swapped_unit(header); header.big_endian && unit > 1) {
    changed.assign(reinterpret_cast<const char*>(data.data()), data.size());
    for (size_t at = 0; at < changed.size(); at += unit)
      std::reverse(changed.data() + at, changed.data() + at + unit);
    data = std::as_bytes(std::span(changed));
  }
  if (type == ElementType::kString) return decode_strings(header, data);
  if (element_bits(type) < 8) return decode_narrow(type, header.dims, data);
  return unpack(type, header.dims, data);
}

Tensor read_npy_file(const std::filesystem::path& path, ElementType wanted) {
  try {
    return read_mapped(path, [&](auto bytes) { return read_npy(bytes, wanted); });
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::string write_npy(const Tensor& tensor) {
  if (tensor.type() == ElementType::kString) {
    const auto strings = encode_strings(tensor.values<std::string>());
    return write_npy_header(strings.descr, tensor.dims()) + strings.bytes;
  }
  std::string descr;
  for (const NumpyType& known : kNumpyTypes) {
    if (known.type == tensor.type()) descr = known.descr;
  }
  if (descr.empty()) descr = fmt::format("<V{}", element_size(tensor.type()));
  return write_npy_header(descr, tensor.dims()) +
         (element_bits(tensor.type()) < 8 ? encode_narrow(tensor) : pack(tensor));
}

namespace {

constexpr std::string_view kSuffix = ".npy";
static_assert(kZipPrefix >= kMaxNpyHeader, "the prefix of a member must hold its npy header");

std::string name_of(const ZipMember& member) {
  if (!member.name.ends_with(kSuffix))
    throw bad_input("the npz file holds '{}', which is no .npy file", member.name);
  return member.name.substr(0, member.name.size() - kSuffix.size());
}

uint64_t expected_npy_size(std::span<const std::byte> prefix) {
  return parse_npy_header(prefix).file_size();
}

}  // namespace

NamedData read_npz(std::span<const std::byte> bytes, const ElementTypes& wanted) {
  NamedData data;
  for (const ZipMember& member : list_zip(bytes)) {
    const std::string name = name_of(member);
    const auto hint = wanted.find(name);
    try {
      const std::string content = read_zip_member(member, expected_npy_size);
      data[name] = read_npy(std::as_bytes(std::span(content)),
                            hint == wanted.end() ? ElementType::kUndefined : hint->second);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}': {}", name, error.message()));
    }
  }
  return data;
}

NamedData read_npz_file(const std::filesystem::path& path, const ElementTypes& wanted) {
  try {
    return read_mapped(path, [&](auto bytes) { return read_npz(bytes, wanted); });
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::vector<std::string> npz_names(const std::filesystem::path& path) {
  try {
    return read_mapped(path, [](auto bytes) {
      std::vector<std::string> names;
      for (const ZipMember& member : list_zip(bytes)) names.push_back(name_of(member));
      return names;
    });
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::string write_npz(const NamedData& data) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, datum] : data)
    members.emplace_back(name + std::string(kSuffix), write_npy(datum.as_tensor()));
  return write_zip(members);
}

}  // namespace vernier
