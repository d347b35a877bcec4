#include "vernier/onnx/tensor_proto.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "vernier/tensor/packing.h"

namespace vernier {

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

namespace {

uint64_t parse_number(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw bad_input("external data {} '{}' is not a number", key, text);
  return value;
}

void expect_count(int64_t have, int64_t want) {
  if (have != want) throw bad_input("has {} values where its shape needs {}", have, want);
}

Tensor from_raw(ElementType type, Dims dims, std::span<const std::byte> raw,
                std::shared_ptr<const void> owner) {
  const int64_t count = element_count(dims);
  const size_t wanted = packed_size(type, count);
  if (raw.size() != wanted) {
    throw bad_input("{}{} needs {} bytes of data, but has {}", element_type_short_name(type), dims_text(dims),
                    wanted, raw.size());
  }
  if (type == ElementType::kBool || element_bits(type) < 8 || !owner ||
      reinterpret_cast<uintptr_t>(raw.data()) % element_size(type) != 0) {
    return unpack(type, std::move(dims), raw);
  }
  return Tensor::borrow(type, std::move(dims), raw.data(), std::move(owner));
}

template <class Field>
Tensor from_numbers(ElementType type, Dims dims, const Field& field) {
  Tensor tensor(type, std::move(dims));
  expect_count(field.size(), tensor.size());
  visit_element_type(type, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      auto values = tensor.mutable_values<T>();
      for (int i = 0; i < field.size(); ++i) values[static_cast<size_t>(i)] = static_cast<T>(field[i]);
    }
  });
  return tensor;
}

// int32_data holds integers up to 32 bits as values, floats of 16 bits or fewer as bit patterns, and for
// types narrower than a byte one packed byte in each entry.
Tensor from_int32_data(const onnx::TensorProto& proto, ElementType type, Dims dims) {
  const auto& field = proto.int32_data();
  if (is_float(type) || element_bits(type) < 8) {
    std::vector<std::byte> bytes;
    const bool wide = element_bits(type) == 16;
    for (const int32_t entry : field) {
      bytes.push_back(static_cast<std::byte>(entry & 0xff));
      if (wide) bytes.push_back(static_cast<std::byte>((entry >> 8) & 0xff));
    }
    return from_raw(type, std::move(dims), bytes, nullptr);
  }
  return from_numbers(type, std::move(dims), field);
}

template <class Component, class Field>
Tensor from_components(ElementType type, Dims dims, const Field& field) {
  Tensor tensor(type, std::move(dims));
  expect_count(field.size(), 2 * tensor.size());
  auto* values = static_cast<Component*>(tensor.mutable_raw());
  std::copy(field.begin(), field.end(), values);
  return tensor;
}

Tensor from_fields(const onnx::TensorProto& proto, ElementType type, Dims dims) {
  switch (type) {
    case ElementType::kFloat: return from_numbers(type, std::move(dims), proto.float_data());
    case ElementType::kDouble: return from_numbers(type, std::move(dims), proto.double_data());
    case ElementType::kInt64: return from_numbers(type, std::move(dims), proto.int64_data());
    case ElementType::kUint32:
    case ElementType::kUint64: return from_numbers(type, std::move(dims), proto.uint64_data());
    case ElementType::kComplex64: return from_components<float>(type, std::move(dims), proto.float_data());
    case ElementType::kComplex128: return from_components<double>(type, std::move(dims), proto.double_data());
    case ElementType::kString: {
      Tensor tensor(type, std::move(dims));
      expect_count(proto.string_data_size(), tensor.size());
      std::copy(proto.string_data().begin(), proto.string_data().end(),
                tensor.mutable_values<std::string>().begin());
      return tensor;
    }
    default: return from_int32_data(proto, type, std::move(dims));
  }
}

// A stated size that the data present cannot fill is refused before memory for it is taken.
void refuse_impossible_size(const onnx::TensorProto& proto, ElementType type, const Dims& dims) {
  const int64_t values = proto.float_data_size() + proto.double_data_size() + proto.int32_data_size() +
                         proto.int64_data_size() + proto.uint64_data_size() + proto.string_data_size();
  const int64_t most =
      element_bits(type) > 0 && element_bits(type) < 8 ? values * (8 / element_bits(type)) : values;
  if (element_count(dims) > most) expect_count(most, element_count(dims));
}

Tensor read_tensor(const onnx::TensorProto& proto, ExternalData& external) {
  if (proto.has_segment()) throw unsupported("is stored in segments");
  const ElementType type = element_type_of(proto.data_type());
  Dims dims(proto.dims().begin(), proto.dims().end());
  const int64_t count = element_count(dims);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    std::string location;
    uint64_t offset = 0;
    std::optional<uint64_t> length;
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") offset = parse_number("offset", entry.value());
      if (entry.key() == "length") length = parse_number("length", entry.value());
    }
    if (type == ElementType::kString) throw bad_input("strings cannot be external data");
    const uint64_t needed = packed_size(type, count);
    std::shared_ptr<const void> owner;
    const auto raw = external.bytes(location, offset, length.value_or(needed), owner);
    return from_raw(type, std::move(dims), raw, std::move(owner));
  }
  if (proto.has_raw_data() && type != ElementType::kString) {
    return from_raw(type, std::move(dims), std::as_bytes(std::span(proto.raw_data())), nullptr);
  }
  refuse_impossible_size(proto, type, dims);
  return from_fields(proto, type, std::move(dims));
}

}  // namespace

std::shared_ptr<const MappedFile> ExternalData::open(const std::string& location) {
  auto& file = files_[location];
  if (!file) file = MappedFile::open(resolve_inside(folder_, location, linked_));
  return file;
}

uint64_t ExternalData::file_size(const std::string& location) {
  return open(location)->bytes().size();
}

std::span<const std::byte> ExternalData::bytes(const std::string& location, uint64_t offset, uint64_t size,
                                               std::shared_ptr<const void>& owner) {
  const auto file = open(location);
  const auto all = file->bytes();
  if (offset > all.size() || size > all.size() - offset) {
    throw bad_input("external data '{}' has {} bytes, but bytes {} to {} are needed", location, all.size(),
                    offset, offset + size);
  }
  owner = file;
  return all.subspan(offset, size);
}

ElementType element_type_of(int32_t data_type) {
  if (data_type <= 0 || data_type >= kElementTypeCount)
    throw bad_input("element type {} is not defined", data_type);
  return static_cast<ElementType>(data_type);
}

Tensor tensor_of(const onnx::TensorProto& proto, ExternalData& external) {
  try {
    return read_tensor(proto, external);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("tensor '{}': {}", proto.name(), error.message()));
  }
}

Tensor dense_tensor_of(const onnx::SparseTensorProto& proto, ExternalData& external) {
  const Tensor values = tensor_of(proto.values(), external), indices = tensor_of(proto.indices(), external);
  Tensor dense(values.type(), Dims(proto.dims().begin(), proto.dims().end()));
  if (values.type() == ElementType::kString) throw unsupported("sparse tensor of strings");
  const auto positions = indices.to_ints();
  const size_t size = element_size(values.type());
  auto* to = static_cast<std::byte*>(dense.mutable_raw());
  const auto from = values.bytes();
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t flat = 0;
    if (indices.rank() == 1) {
      flat = positions.at(static_cast<size_t>(i));
    } else {
      for (int64_t axis = 0; axis < dense.rank(); ++axis) {
        flat = flat * dense.dims()[static_cast<size_t>(axis)] +
               positions.at(static_cast<size_t>(i * dense.rank() + axis));
      }
    }
    if (flat < 0 || flat >= dense.size())
      throw bad_input("sparse tensor '{}' has an index outside of its shape", proto.values().name());
    std::memcpy(to + static_cast<size_t>(flat) * size, from.data() + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

void write_tensor(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int32_t>(tensor.type()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  if (tensor.type() == ElementType::kString) {
    for (const auto& text : tensor.values<std::string>()) proto.add_string_data(text);
  } else {
    proto.set_raw_data(pack(tensor));
  }
}

ValueType value_type_of(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
    case onnx::TypeProto::VALUE_NOT_SET: {
      const auto& tensor = proto.tensor_type();
      const auto element =
          tensor.elem_type() == 0 ? ElementType::kUndefined : element_type_of(tensor.elem_type());
      if (!tensor.has_shape()) return ValueType::of(element);
      Shape shape;
      for (const auto& dim : tensor.shape().dim()) {
        if (dim.has_dim_value()) {
          if (dim.dim_value() < -1) throw bad_input("a declared dimension is {}", dim.dim_value());
          shape.emplace_back(dim.dim_value());
        } else if (!dim.dim_param().empty()) {
          shape.push_back(Dim::symbol(dim.dim_param()));
        } else {
          shape.emplace_back(-1);  // unknown; inference names it
        }
      }
      return ValueType::of(element, std::move(shape));
    }
    case onnx::TypeProto::kSequenceType:
      return ValueType::sequence(value_type_of(proto.sequence_type().elem_type()));
    case onnx::TypeProto::kOptionalType:
      return ValueType::optional(value_type_of(proto.optional_type().elem_type()));
    case onnx::TypeProto::kMapType: {
      const ValueType value = value_type_of(proto.map_type().value_type());
      if (!value.is_tensor()) throw unsupported("maps to other values than tensors");
      return ValueType::map(element_type_of(proto.map_type().key_type()), value);
    }
    default: throw unsupported("values of sparse tensor type");
  }
}

void write_type(const ValueType& type, onnx::TypeProto& proto) {
  switch (type.kind) {
    case ValueType::Kind::kSequence:
      return write_type(*type.element, *proto.mutable_sequence_type()->mutable_elem_type());
    case ValueType::Kind::kOptional:
      return write_type(*type.element, *proto.mutable_optional_type()->mutable_elem_type());
    case ValueType::Kind::kMap:
      proto.mutable_map_type()->set_key_type(static_cast<int32_t>(type.tensor.element));
      return write_type(*type.element, *proto.mutable_map_type()->mutable_value_type());
    case ValueType::Kind::kTensor: break;
  }
  auto* tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(type.tensor.element));
  if (!type.tensor.shape) return;
  auto* shape = tensor->mutable_shape();
  for (const Dim& dim : *type.tensor.shape) {
    auto* entry = shape->add_dim();
    if (dim.is_constant() && *dim.constant() >= 0)
      entry->set_dim_value(*dim.constant());
    else if (dim.is_symbol() && !dim.has_fresh())
      entry->set_dim_param(*dim.symbols().begin());  // as it is, however it is quoted in text
  }
}

}  // namespace vernier
