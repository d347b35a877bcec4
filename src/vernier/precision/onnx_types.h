// Which types ONNX gives its operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vernier/numeric/element_type.h"

namespace vernier {

// The first opset of ai.onnx in which the operator computes in the type, FLOAT16 or BFLOAT16, with everything
// else of it as it is in float; nothing if ONNX has no such operator.
std::optional<int64_t> opset_of_type(std::string_view op, ElementType type);

}  // namespace vernier
