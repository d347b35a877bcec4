// Raw element data without any header, e.g. what trtexec's --loadInputs takes.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The file must have exactly the bytes of `type` and `dims`, packed where elements are narrower than a byte.
// Throws bad_input naming file, input, expected and actual size: a raw file cannot say what it holds, so its
// size is the only thing that can tell a wrong type or batch.
Tensor read_raw_file(const std::filesystem::path& path, const std::string& input, ElementType type,
                     const Dims& dims);

}  // namespace vernier
