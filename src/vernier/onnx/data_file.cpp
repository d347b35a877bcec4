#include "vernier/onnx/data_file.h"

#include <onnx/onnx-data.pb.h>

#include "vernier/base/file.h"
#include "vernier/onnx/tensor_proto.h"
#include "vernier/ops/support/ml/map_datum.h"

namespace vernier {

namespace {

template <class Proto>
Proto parsed(std::span<const std::byte> bytes, const char* kind) {
  Proto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw bad_input("is not a protobuf {}, or is damaged", kind);
  return proto;
}

Datum from_sequence(const onnx::SequenceProto& proto, ExternalData& external);

Datum from_optional(const onnx::OptionalProto& proto, ExternalData& external) {
  switch (proto.elem_type()) {
    case onnx::OptionalProto::UNDEFINED: return Datum::none();
    case onnx::OptionalProto::TENSOR:
      return proto.has_tensor_value() ? Datum(tensor_of(proto.tensor_value(), external)) : Datum::none();
    case onnx::OptionalProto::SEQUENCE:
      return proto.has_sequence_value() ? from_sequence(proto.sequence_value(), external) : Datum::none();
    case onnx::OptionalProto::OPTIONAL:
      return proto.has_optional_value() ? from_optional(proto.optional_value(), external) : Datum::none();
    default: throw unsupported("optional of elements that are neither tensor, sequence nor optional");
  }
}

Datum from_map(const onnx::MapProto& proto, ExternalData& external) {
  const auto type = element_type_of(proto.key_type());
  const Datum values = from_sequence(proto.values(), external);
  if (type == ElementType::kString) {
    const std::vector<std::string> keys(proto.string_keys().begin(), proto.string_keys().end());
    return ops::make_map(Tensor::from<std::string>(type, {std::ssize(keys)}, keys), values.as_sequence());
  }
  const std::vector<int64_t> keys(proto.keys().begin(), proto.keys().end());
  return ops::make_map(Tensor::from_ints(type, {std::ssize(keys)}, keys), values.as_sequence());
}

Datum from_sequence(const onnx::SequenceProto& proto, ExternalData& external) {
  std::vector<Datum> elements;
  switch (proto.elem_type()) {
    case onnx::SequenceProto::UNDEFINED: break;
    case onnx::SequenceProto::TENSOR:
      for (const auto& value : proto.tensor_values()) elements.emplace_back(tensor_of(value, external));
      break;
    case onnx::SequenceProto::SEQUENCE:
      for (const auto& value : proto.sequence_values()) elements.push_back(from_sequence(value, external));
      break;
    case onnx::SequenceProto::OPTIONAL:
      for (const auto& value : proto.optional_values()) elements.push_back(from_optional(value, external));
      break;
    case onnx::SequenceProto::MAP:
      for (const auto& value : proto.map_values()) elements.push_back(from_map(value, external));
      break;
    default: throw unsupported("sequence of elements that are neither tensor, sequence, optional nor map");
  }
  return Datum::of_sequence(std::move(elements));
}

void write_sequence(const Datum& datum, onnx::SequenceProto& proto) {
  proto.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const Datum& element : datum.as_sequence()) {
    if (element.is_tensor()) {
      write_tensor(element.tensor, *proto.add_tensor_values());
    } else {
      proto.set_elem_type(onnx::SequenceProto::SEQUENCE);
      write_sequence(element, *proto.add_sequence_values());
    }
  }
}

}  // namespace

Datum read_pb(std::span<const std::byte> bytes, ValueType::Kind kind) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    throw bad_input("is larger than 2 GB");
  ExternalData external("/nonexistent");  // data files have no folder of their own to read from
  switch (kind) {
    case ValueType::Kind::kTensor: return tensor_of(parsed<onnx::TensorProto>(bytes, "tensor"), external);
    case ValueType::Kind::kSequence:
      return from_sequence(parsed<onnx::SequenceProto>(bytes, "sequence"), external);
    case ValueType::Kind::kOptional:
      return from_optional(parsed<onnx::OptionalProto>(bytes, "optional"), external);
    case ValueType::Kind::kMap: return from_map(parsed<onnx::MapProto>(bytes, "map"), external);
  }
  throw internal_error("unknown kind of value");
}

Datum read_pb_file(const std::filesystem::path& path, ValueType::Kind kind) {
  try {
    return read_mapped(path, [&](auto bytes) { return read_pb(bytes, kind); });
  } catch (Error& error) {
    throw error.in_file(path.string());
  }
}

void write_pb_file(const std::filesystem::path& path, const Datum& datum, const std::string& name) {
  std::string bytes;
  if (datum.is_tensor()) {
    onnx::TensorProto proto;
    proto.set_name(name);
    write_tensor(datum.tensor, proto);
    bytes = proto.SerializeAsString();
  } else if (datum.kind == Datum::Kind::kSequence) {
    onnx::SequenceProto proto;
    proto.set_name(name);
    write_sequence(datum, proto);
    bytes = proto.SerializeAsString();
  } else {
    onnx::OptionalProto proto;
    proto.set_name(name);
    bytes = proto.SerializeAsString();
  }
  write_file(path, bytes);
}

}  // namespace vernier
