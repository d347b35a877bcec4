#pragma once

#include <cstdint>

namespace vernier {

// What a value is, compared with the value of the ONNX model that bears the same name.
enum class Origin : uint8_t { kExact, kPermuted, kScaled, kNotMaterialised };

}  // namespace vernier
