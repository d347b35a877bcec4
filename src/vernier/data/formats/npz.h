// NumPy's .npz files: zip archives with one <name>.npy per tensor.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// What each name should hold; for elements that a file does not type (npy.h).
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
