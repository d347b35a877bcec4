// NumPy's .npy files: one tensor each. Types that NumPy lacks are stored as its extension ml_dtypes stores
// them: bfloat16 as V2, float8 as V1, types narrower than a byte as V1, one element per byte. Such a file
// does not say which of them it holds; the model does. (ml_dtypes writes float8_e5m2 as f1, which NumPy
// itself refuses to load; it is read, too.)
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// `wanted` gives void elements (V1, V2, f1) their meaning and is of no effect on others: whether the type
// that is read is the right one is the caller's question. Fortran order and big-endian elements are turned
// into row-major native ones. Throws bad_input when the bytes are damaged, too few or too many.
Tensor read_npy(std::span<const std::byte> bytes, ElementType wanted = ElementType::kUndefined);
Tensor read_npy_file(const std::filesystem::path& path, ElementType wanted = ElementType::kUndefined);
// Strings become fixed-width unicode (U), or bytes (S) when one of them is no valid UTF-8.
std::string write_npy(const Tensor& tensor);

// NumPy's .npz files: zip archives with one <name>.npy per tensor.

// Says what type each name should hold, for elements that a file does not type (npy.h).
using ElementTypes = std::map<std::string, ElementType>;

// Every member, by name without ".npy". Throws bad_input for anything damaged, and for members that are no
// .npy.
NamedData read_npz(std::span<const std::byte> bytes, const ElementTypes& wanted = {});
NamedData read_npz_file(const std::filesystem::path& path, const ElementTypes& wanted = {});
// The names of its members, without ".npy".
std::vector<std::string> npz_names(const std::filesystem::path& path);
// Tensors only; members are stored, not compressed.
std::string write_npz(const NamedData& data);

}  // namespace vernier
