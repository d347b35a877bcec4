// Writing ONNX models.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// The model as one ONNX file with the opsets it was imported with. Tensors above 1 KiB go to `<path>.data`
// beside it when the file would pass 1.9 GB. Throws unsupported when nodes of one domain have different opset
// versions.
void export_model(const Model& model, const std::filesystem::path& path);

}  // namespace vernier
