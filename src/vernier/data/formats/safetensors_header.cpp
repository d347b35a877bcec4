#include "vernier/data/formats/safetensors_header.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "vernier/data/formats/json_text.h"
#include "vernier/tensor/packing.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr size_t kLargestHeader = 100'000'000;  // the limit of the format's own library
constexpr size_t kLengthBytes = 8, kAlignment = 8;

struct Dtype {
  std::string_view name;
  ElementType type;
  bool classic;  // in the format from the start, or nearly so
};

constexpr Dtype kDtypes[] = {
    {"F64", ElementType::kDouble, true},
    {"F32", ElementType::kFloat, true},
    {"F16", ElementType::kFloat16, true},
    {"BF16", ElementType::kBFloat16, true},
    {"F8_E4M3", ElementType::kFloat8E4M3FN, true},
    {"F8_E5M2", ElementType::kFloat8E5M2, true},
    {"I64", ElementType::kInt64, true},
    {"I32", ElementType::kInt32, true},
    {"I16", ElementType::kInt16, true},
    {"I8", ElementType::kInt8, true},
    {"U64", ElementType::kUint64, true},
    {"U32", ElementType::kUint32, true},
    {"U16", ElementType::kUint16, true},
    {"U8", ElementType::kUint8, true},
    {"BOOL", ElementType::kBool, true},
    {"C64", ElementType::kComplex64, false},
    {"F8_E4M3FNUZ", ElementType::kFloat8E4M3FNUZ, false},
    {"F8_E5M2FNUZ", ElementType::kFloat8E5M2FNUZ, false},
    {"F8_E8M0", ElementType::kFloat8E8M0, false},
    {"F4", ElementType::kFloat4E2M1, false},
};

StoredTensor parse_tensor(const json& entry, size_t data_size) {
  StoredTensor tensor;
  const std::string& name = json_string(entry, "dtype");
  const auto dtype =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const Dtype& d) { return d.name == name; });
  if (dtype == std::end(kDtypes)) throw unsupported("has the unknown dtype '{}'", name);
  tensor.type = dtype->type;
  for (const json& dim : json_array(entry, "shape")) tensor.dims.push_back(json_size(dim, "a shape"));
  const json& offsets = json_array(entry, "data_offsets");
  if (offsets.size() != 2) throw bad_input("has {} data_offsets instead of 2", offsets.size());
  tensor.begin = static_cast<size_t>(json_size(offsets[0], "an offset"));
  tensor.end = static_cast<size_t>(json_size(offsets[1], "an offset"));
  if (tensor.begin > tensor.end || tensor.end > data_size) {
    throw bad_input("has the data_offsets [{}, {}], but the file holds {} bytes of data", tensor.begin,
                    tensor.end, data_size);
  }
  const size_t needed = packed_size(tensor.type, element_count(tensor.dims));
  if (tensor.end - tensor.begin != needed) {
    throw bad_input("is {}{}, which takes {} bytes, but has {}", name, dims_text(tensor.dims), needed,
                    tensor.end - tensor.begin);
  }
  return tensor;
}

void check_coverage(const SafetensorsHeader& header, size_t data_size) {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const auto& [name, tensor] : header.tensors) ranges.emplace_back(tensor.begin, tensor.end);
  std::sort(ranges.begin(), ranges.end());
  size_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin < covered) throw bad_input("has tensors that overlap at byte {} of the data", begin);
    if (begin > covered)
      throw bad_input("has bytes that belong to no tensor, from {} to {} of the data", covered, begin);
    covered = end;
  }
  if (covered != data_size) throw bad_input("has {} bytes behind the last tensor", data_size - covered);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           std::span<const std::byte>& data) {
  if (file.size() < kLengthBytes)
    throw bad_input("is no safetensors file: {} bytes are too short", file.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kLargestHeader || length > file.size() - kLengthBytes) {
    throw bad_input("is no safetensors file, or is cut off: a header of {} bytes does not fit", length);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  const json root = parse_json(text);
  if (!root.is_object()) throw bad_input("has a header that is no JSON object");
  data = file.subspan(kLengthBytes + length);
  SafetensorsHeader header;
  for (const auto& [name, entry] : root.items()) {
    try {
      if (name == "__metadata__") {
        for (const auto& [key, value] : entry.items()) header.metadata[key] = json_string(entry, key);
      } else {
        header.tensors[name] = parse_tensor(entry, data.size());
      }
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("tensor '{}' {}", name, error.message()));
    }
  }
  check_coverage(header, data.size());
  return header;
}

std::string safetensors_header_bytes(const SafetensorsHeader& header) {
  json root = json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  for (const auto& [name, tensor] : header.tensors) {
    const ElementType type = tensor.type;
    const auto dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                    [type](const Dtype& each) { return each.type == type; });
    if (name == "__metadata__")
      throw bad_input("a tensor cannot be called '__metadata__' in a safetensors file");
    root[name] = {
        {"dtype", dtype->name}, {"shape", tensor.dims}, {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json_text(root);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kLargestHeader)
    throw unsupported("a safetensors header of {} bytes exceeds the format's limit", text.size());
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + text;
}

bool is_classic_safetensors_type(ElementType type) {
  return std::any_of(std::begin(kDtypes), std::end(kDtypes),
                     [&](const Dtype& d) { return d.type == type && d.classic; });
}

}  // namespace vernier
