// NumPy's .npy files: one tensor each. Types that NumPy lacks are stored as its extension ml_dtypes stores
// them: bfloat16 as V2, float8 as V1, types narrower than a byte as V1, one element per byte. Such a file
// does not say which of them it holds; the model does. (ml_dtypes writes float8_e5m2 as f1, which NumPy
// itself refuses to load; it is read, too.)
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// `wanted` gives void elements (V1, V2, f1) their meaning and is of no effect on others: whether the type
// that is read is the right one is the caller's question. Fortran order and big-endian elements are turned
// into row-major native ones. Throws bad_input when the bytes are damaged, too few or too many.
Tensor read_npy(std::span<const std::byte> bytes, ElementType wanted = ElementType::kUndefined);
Tensor read_npy_file(const std::filesystem::path& path, ElementType wanted = ElementType::kUndefined);
// Strings become fixed-width unicode (U), or bytes (S) when one of them is no valid UTF-8.
std::string write_npy(const Tensor& tensor);

}  // namespace vernier
