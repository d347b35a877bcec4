// The header of a safetensors file: names, types and places of byte ranges. Internal to the room.
#pragma once

#include <map>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The metadata entry that describes values which plain safetensors cannot.
inline constexpr const char* kDescriptionKey = "onnx.values";

struct StoredTensor {
  ElementType type = ElementType::kUndefined;
  Dims dims;
  size_t begin = 0, end = 0;  // bytes, counted from the end of the header
};

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Sets `data` to the bytes behind the header. Throws bad_input unless the ranges cover them without hole or
// overlap, each as long as type and sizes say.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::span<const std::byte>& data);
// Length field and header, padded so that the data begins at a multiple of 8 bytes.
std::string safetensors_header_bytes(const SafetensorsHeader& header);

// Whether every reader of the format knows the type; the others are written as bytes and described in the
// metadata.
bool is_classic_safetensors_type(ElementType type);

}  // namespace vernier
