// Element data as files hold it: types narrower than a byte packed, lowest bits first; all others as in
// memory.
#pragma once

#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Bytes that `count` elements take in a file. Throws bad_input for strings.
size_t packed_size(ElementType type, int64_t count);
// `bytes` must be packed_size() long; checked. A BOOL byte other than 0 and 1 is true.
Tensor unpack(ElementType type, Dims dims, std::span<const std::byte> bytes);
std::string pack(const Tensor& tensor);

}  // namespace vernier
